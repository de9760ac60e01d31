import { expect, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import { auditRoutes } from "../../../src/api/routes/audit/audit.ts";
import { AUDIT_PAGE_MAX } from "../../../src/catalog/audit/limits.ts";
import type { ApiError } from "../../../src/errors.ts";
import { LISTS_OF_WORKSPACE_MAX, PAGE_ITEMS_MAX } from "../../../src/settings/limits.ts";

const iso = (ms: number) => new Date(ms).toISOString();
const entry = (id: string) => ({
  ...{ id, workspaceId: "w", at: 1_000, concerns: ["s"], action: "source.update" },
  changes: [],
});
const shown = (id: string) => ({ id, createdAt: iso(1_000), action: "source.update", changes: [] });

/** An audit log whose reads find these pages, and the requests that reach it. */
function logOf(pages: object[]) {
  const asked: unknown[] = [];
  const find = (...question: unknown[]) => {
    asked.push(question);
    return pages[asked.length - 1];
  };
  const limiters = createLimiters(0);
  const deps = { limiters, catalog: { audit: { find } } };
  const [list, exported] = auditRoutes;
  const send = (handle: unknown, query: object): any =>
    (handle as (call: object) => unknown)({ deps, workspaceId: "w", query });
  return {
    ...{ asked, limiters },
    list: (query: object) => send(list.handle, query),
    exported: (query: object): Response => send(exported.handle, query),
  };
}

test("a page of the audit log has the entries that the filter finds, and where to go on", () => {
  const entries = [entry("b"), entry("a")];
  const log = logOf([{ entries }, { entries: [], reached: "a", keptSince: 500 }]);
  expect(log.list({})).toStrictEqual({ entries: [shown("b"), shown("a")] });
  const filter = { actor: "t", action: "source", resource: "s" };
  const times = { from: iso(1), to: iso(2) };
  expect(log.list({ ...filter, ...times, count: 7, cursor: "c" })).toStrictEqual({
    ...{ entries: [], cursor: "a", keptSince: iso(500) },
  });
  expect(log.asked).toStrictEqual([
    ["w", {}, { count: PAGE_ITEMS_MAX }],
    ["w", { ...filter, from: 1, to: 2 }, { count: 7, after: "c" }],
  ]);
});

test("a time of the audit log that does not end after its begin is refused by the parameter", () => {
  const { list, exported, asked } = logOf([]);
  for (const read of [list, exported]) {
    for (const to of [1, 2]) {
      let refusal: unknown;
      try {
        read({ from: iso(2), to: iso(to) });
      } catch (error) {
        refusal = error;
      }
      expect((refusal as ApiError).details?.map(({ path }) => path)).toEqual(["?from"]);
    }
  }
  expect(asked).toEqual([]);
});

test("an export of the audit log reads page after page, and is one of a few at once", async () => {
  const log = logOf([
    { entries: [entry("c"), entry("b")], reached: "b" },
    { entries: [], reached: "a2" },
    { entries: [entry("a")] },
  ]);
  const response = log.exported({ action: "source" });
  for (let n = 1; n < LISTS_OF_WORKSPACE_MAX; n++) log.limiters.longLists.acquire("w");
  expect(() => log.limiters.longLists.acquire("w")).toThrow("long lists");
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  expect(log.asked).toEqual([]);
  const lines = (await response.text()).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual(["c", "b", "a"].map(shown));
  const page = { count: AUDIT_PAGE_MAX };
  expect(log.asked).toStrictEqual(
    [page, { ...page, after: "b" }, { ...page, after: "a2" }].map((it) => {
      return ["w", { action: "source" }, it];
    }),
  );
  log.limiters.longLists.acquire("w");
});
