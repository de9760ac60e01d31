import { expect, test } from "bun:test";
import type { PeerNodes } from "../../../src/api/deps.ts";
import { createLimiters } from "../../../src/api/limiters.ts";
import type { LaneSummary, StatusDeps } from "../../../src/api/routes/status/local-status.ts";
import {
  answerLocally,
  lastFailures,
  workspaceStatus,
  workspaceSuspensions,
} from "../../../src/api/routes/status/node-status.ts";
import { STATUS_DESTINATIONS_ASKED_MAX } from "../../../src/settings/limits.ts";

const rates = { received: 1, delivered: 2, dropped: 3, failed: 4 };
const lane = { lagEvents: 1, lagSeconds: 1, isWaiting: false, isRejecting: false, rates };
const failure = { since: 5, reason: "Late", isDown: false };

/** Node `one`, which asks `ask` for the answers of the other nodes. Its own lane is `lane`. */
function scene(ask: PeerNodes["ask"]) {
  return {
    limiters: createLimiters(0),
    others: { node: "one", ask, answerWith() {} },
    ready: () => ({ ready: true, checks: {}, warnings: [] }),
    suspensions: () => [],
    slowCode: () => new Map(),
    catalog: { connections: { idOf: ({ sourceId }: { sourceId: string }) => `${sourceId}-d` } },
    pipeline: {
      status: (id: string) =>
        id === "d" ? { ...lane, rates: [{ sourceId: "s", ...rates }] } : undefined,
    },
  } as unknown as StatusDeps;
}

/** Returns the lane of destination `d` after a merge of those of node `one` and of two others. */
async function merged(two: Partial<LaneSummary>, three: Partial<LaneSummary> = {}) {
  const told = (other: Partial<LaneSummary>) => ({
    ...{ lanes: { d: { ...lane, ...other } }, connections: { "s-d": rates } },
    ...{ suspensions: [], troubles: [], warnings: [] },
  });
  const answers = new Map([
    ["two", told(two)],
    ["three", told(three)],
  ]);
  const deps = scene(async () => ({ answers, missing: [] }));
  return await workspaceStatus(deps, "w", ["d"]);
}

test("the lanes of a destination on several nodes add their pending events and rates", async () => {
  const { lanes, connections } = await merged({ lagEvents: 5, lagSeconds: 9 });
  const sum = { received: 3, delivered: 6, dropped: 9, failed: 12 };
  expect(lanes).toEqual({ d: { ...lane, lagEvents: 7, lagSeconds: 9, rates: sum } });
  expect(connections).toEqual({ "s-d": sum });
});

test("a destination waits, or rejects events, if it does so on one node", async () => {
  const { lanes } = await merged({ isWaiting: true }, { isRejecting: true });
  expect(lanes.d).toMatchObject({ isWaiting: true, isRejecting: true });
  const none = await merged({});
  expect(none.lanes.d).toMatchObject({ isWaiting: false, isRejecting: false });
});

test.each([
  [{ ...failure, since: 9 }, failure, 5],
  [failure, { ...failure, since: 9 }, 5],
  [{ ...failure, since: 9, isDown: true }, failure, 9],
  [failure, { ...failure, since: 9, isDown: true }, 9],
])("the most urgent of the failures %j and %j counts, then the oldest", async (a, b, since) => {
  const { lanes } = await merged({ failure: a }, { failure: b });
  expect(lanes.d!.failure!.since).toBe(since);
});

test("a destination is blocked if one node is, and its code is slow since the earliest time", async () => {
  const { lanes } = await merged(
    { slowCodeSince: 1_700_000_000_009, blocked: "The disk is full" },
    { slowCodeSince: 1_700_000_000_001 },
  );
  expect(lanes.d).toMatchObject({
    slowCodeSince: 1_700_000_000_001,
    blocked: "The disk is full",
  });
});

test("the nodes are asked about a limited number of destinations at a time", async () => {
  const asked: unknown[] = [];
  const missing = ["three", "two"];
  const deps = scene(async (question) => {
    asked.push(question);
    return { answers: new Map(), missing: [missing[asked.length % 2]!] };
  });
  const ids = Array.from({ length: 2 * STATUS_DESTINATIONS_ASKED_MAX + 1 }, (_, n) => `d${n}`);
  const { missingNodes } = await workspaceStatus(deps, "w", ids);
  expect(asked).toEqual([
    ["activity", "w", ids.slice(0, STATUS_DESTINATIONS_ASKED_MAX)],
    ["activity", "w", ids.slice(STATUS_DESTINATIONS_ASKED_MAX, -1)],
    ["activity", "w", ids.slice(-1)],
  ]);
  expect(missingNodes).toEqual(["three", "two"]);
  // A workspace without destinations has troubles and warnings of the nodes, too.
  asked.length = 0;
  await workspaceStatus(deps, "w", []);
  expect(asked).toEqual([["activity", "w", []]]);
});

test("the last failures of a destination are those of the nodes that know one", async () => {
  const failed = { at: 5, reason: "Late" };
  const answers = new Map<string, unknown>([
    ["two", null],
    ["three", failed],
  ]);
  const asked: unknown[] = [];
  const deps = scene(async (question) => {
    asked.push(question);
    return { answers, missing: ["four"] };
  });
  expect(await lastFailures(deps, "w", "d")).toEqual({
    ...{ failures: [failed], missingNodes: ["four"] },
  } as never);
  expect(asked).toEqual([["failure", "d"]]);
  expect(answerLocally(deps, ["failure", "d"])).toBeNull();
  Object.assign(deps.pipeline, { status: () => ({ lastFailure: failed }) });
  expect(answerLocally(deps, ["failure", "d"])).toEqual(failed);
  expect(() => answerLocally(deps, ["toString"])).toThrow("a question that this version knows");
});

test("code that several nodes have suspended is suspended until the last of them ends", async () => {
  const suspension = (transformationVersionId: string, until: number) => ({
    ...{ transformationVersionId, until, name: "T", reason: "Error" },
  });
  const answers = new Map([
    ["two", [suspension("a", 5), suspension("b", 1)]],
    ["three", [suspension("a", 9), suspension("b", 0)]],
  ]);
  const deps = scene(async () => ({ answers, missing: [] }));
  const { suspensions, missingNodes } = await workspaceSuspensions(deps, "w");
  expect(suspensions).toEqual([suspension("a", 9), suspension("b", 1)]);
  expect(missingNodes).toEqual([]);
});
