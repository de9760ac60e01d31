import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { noteRefusedToken, RefusedTokens } from "../../../src/api/refused-tokens.ts";
import type { RefusedRequests } from "../../../src/catalog/audit/audit.ts";
import { AUDIT_REFUSALS_PER_MINUTE_MAX } from "../../../src/catalog/audit/limits.ts";

afterEach(() => mock.restore());

/** Refused tokens whose clock runs when `pass` is called. */
function setUp(store: () => Promise<void> = async () => {}) {
  const timers: { act: () => void; ms?: number | undefined }[] = [];
  spyOn(globalThis, "setTimeout").mockImplementation(((act: () => void, ms?: number) => {
    timers.push({ act, ms });
    return { unref() {} };
  }) as never);
  const cleared = spyOn(globalThis, "clearTimeout").mockImplementation(() => {});
  const stored: (readonly RefusedRequests[])[] = [];
  const warnings: unknown[] = [];
  const logger = { warn: (fields: object) => void warnings.push(fields) } as never;
  const refused = new RefusedTokens(async (given) => {
    stored.push(given);
    await store();
  }, logger);
  return { refused, timers, cleared, stored, warnings };
}
const request = { workspaceId: "w", reason: "Unknown token" };

test("refused tokens are stored together, a minute after the first of them", async () => {
  const { refused, timers, stored, cleared } = setUp();
  refused.note({ ...request, client: "192.0.2.1" });
  refused.note({ ...request, client: "192.0.2.2", tokenId: "t" });
  refused.note({ ...request, client: "192.0.2.1", route: "GET /a" });
  expect(timers.map(({ ms }) => ms)).toEqual([60_000]);
  expect(stored).toEqual([]);
  timers[0]!.act();
  await Promise.resolve();
  expect(stored).toEqual([
    [
      { ...request, client: "192.0.2.1", requests: 2 },
      { ...request, client: "192.0.2.2", tokenId: "t", requests: 1 },
    ],
  ]);
  // The next ones have a minute of their own, and none of those before.
  refused.note({ ...request, reason: "Expired token" });
  expect(timers).toHaveLength(2);
  await refused.flush();
  expect(stored[1]).toEqual([{ ...request, reason: "Expired token", requests: 1 }]);
  expect(cleared).toHaveBeenCalledTimes(2);
});

test("requests are counted apart by workspace, token, address and reason", async () => {
  const { refused, stored } = setUp();
  const first = { ...request, tokenId: "t", client: "a" };
  const others = [{ workspaceId: "x" }, { tokenId: "u" }, { client: "b" }, { reason: "Other" }];
  for (const other of [{}, ...others, {}]) refused.note({ ...first, ...other });
  await refused.flush();
  const counts = stored[0]!.map(({ requests }) => requests);
  expect(counts).toEqual([2, 1, 1, 1, 1]);
  expect(stored[0]![0]).toEqual({ ...first, requests: 2 });
});

test("the busiest of a thousand callers and more are named, and the others are summed up", async () => {
  const { refused, stored } = setUp();
  const note = (caller: number) => refused.note({ ...request, client: `a${caller}` });
  for (let caller = 0; caller < 1_000; caller++) note(caller);
  // The last callers come more often; one more than a thousand is counted without its address.
  for (let n = 0; n < AUDIT_REFUSALS_PER_MINUTE_MAX; n++) note(999 - n);
  for (let n = 0; n < 3; n++) note(1_000);
  await refused.flush();
  const named = stored[0]!.slice(0, AUDIT_REFUSALS_PER_MINUTE_MAX);
  expect(named.map(({ requests }) => requests)).toEqual(named.map(() => 2));
  const rest = 1_000 - AUDIT_REFUSALS_PER_MINUTE_MAX;
  const summed = { reason: "Several reasons" };
  expect(stored[0]!.slice(named.length)).toEqual([
    { ...summed, workspaceId: "w", requests: rest, addresses: rest },
    { ...summed, workspaceId: "", requests: 3, addresses: 0 },
  ]);
});

test("counts that cannot be stored are dropped, and the log tells why", async () => {
  const full = new Error("The disk is full");
  const { refused, stored, warnings } = setUp(() => Promise.reject(full));
  refused.note(request);
  await refused.flush();
  expect(warnings).toEqual([{ err: full }]);
  await refused.flush();
  expect(stored.map(({ length }) => length)).toEqual([1, 0]);
});

test("a refused token is noted as expired with its workspace, or as unknown", () => {
  const noted: unknown[] = [];
  const deps = {
    catalog: {
      tokens: {
        idsOf: (secret: string) =>
          secret === "old" ? { workspaceId: "w", tokenId: "t" } : undefined,
      },
    },
    refusedTokens: { note: (it: unknown) => noted.push(it) },
  } as unknown as Parameters<typeof noteRefusedToken>[0];
  const from = { client: "192.0.2.1", route: "GET /a" };
  for (const secret of ["old", "other"]) noteRefusedToken(deps, { secret, ...from });
  expect(noted).toEqual([
    { workspaceId: "w", tokenId: "t", ...from, reason: "Expired token" },
    { workspaceId: "", ...from, reason: "Unknown token" },
  ]);
});
