import { expect, test } from "bun:test";
import { localHealth } from "../../../src/api/routes/status/local-status.ts";
import { measureSources, workspaceState } from "../../../src/api/routes/status/workspace-state.ts";
import type { Source } from "../../../src/catalog/model.ts";
import { OVERVIEW_LAG_SECONDS_MIN } from "../../../src/settings/limits.ts";
import { noRates, type Scene, scene } from "./_scene.ts";

const failure = { since: 1_000, reason: "No route", isDown: false };
const cases: [state: string, lane: object | undefined, more?: Scene][] = [
  ["ok", {}],
  ["down", { failure: { ...failure, isDown: true } }],
  ["failing", { failure }],
  ["waiting", { isWaiting: true }],
  ["lagging", { lagSeconds: OVERVIEW_LAG_SECONDS_MIN }],
  ["ok", { lagSeconds: OVERVIEW_LAG_SECONDS_MIN - 0.1 }],
  ["blocked", { isWaiting: true }, { blocked: "The disk is full" }],
  ["failing", { failure }, { blocked: "The disk is full" }],
  ["unconnected", undefined],
  ["unknown", undefined, { missing: ["b"] }],
  ["unknown", {}, { missing: ["b"] }],
  ["failing", { failure }, { missing: ["b"] }],
  ["paused", { failure }, { destinations: [{ id: "d", enabled: false }] }],
  ["external", undefined, { destinations: [{ id: "d", deliveredBy: "rudder-server" }] }],
];
test.each(cases)("a destination is %s with the lane %j and %j", async (state, lane, more = {}) => {
  const lanes = lane && { d: lane };
  const found = await workspaceState(
    scene({ destinations: [{ id: "d" }], ...(lanes && { lanes }), ...more }),
    "w",
  );
  expect(found.destinations[0]!.state).toBe(state as never);
  expect(found.missingNodes).toEqual(more.missing ?? []);
});

test("a destination has the reason of its failure, or why its server delivers nothing", async () => {
  const reasonWith = async (lane: object, blocked?: string) => {
    const lanes = { d: lane };
    const given = { destinations: [{ id: "d" }], lanes, ...(blocked && { blocked }) };
    const [{ since, reason } = {}] = (await workspaceState(scene(given), "w")).destinations;
    return [since, reason];
  };
  expect(await reasonWith({ failure })).toEqual(["1970-01-01T00:00:01.000Z", "No route"]);
  const blocked = "delivery: The disk is full";
  expect(await reasonWith({}, "The disk is full")).toEqual([undefined, blocked]);
  expect(await reasonWith({ failure }, "The disk is full")).toEqual([
    expect.any(String),
    "No route",
  ]);
  expect(await reasonWith({})).toEqual([undefined, undefined]);
});

test("connections are sorted: enabled ones, those of urgent destinations, then by rates", async () => {
  const rates = (failed: number, received: number) => ({
    rates: [{ sourceId: "s", ...noRates, failed, received }],
  });
  const lanes = {
    quiet: rates(0, 0.0004),
    busy: rates(0, 2),
    failed: rates(1, 0),
    bad: { failure },
    off: { failure: { ...failure, isDown: true } },
  };
  const ids = Object.keys(lanes);
  const destinations = ids.map((id) => ({ id }));
  const connections = [...ids, "gone"].map((id) => ({
    ...{ id: `to-${id}`, sourceId: "s", destinationId: id, enabled: id !== "off" },
  }));
  const sources = [{ id: "s", name: "S", enabled: true }];
  const deps = scene({ destinations, connections, sources, lanes });
  const found = await workspaceState(deps, "w");
  expect(found.connections.map(({ destinationId }) => destinationId)).toEqual([
    ...["bad", "failed", "busy", "quiet", "gone", "off"],
  ]);
  // Rates have thousandths at most.
  expect(found.connections[3]!.rates).toEqual(noRates);
  expect(found.connections[4]!.rates).toEqual(noRates);
  expect(found.totals).toEqual({ sources: 1, destinations: 5, connections: 6 });
  // The destination that reads fastest lags least.
  const source = { id: "s", name: "S", enabled: true, receivedPerSecond: 2 };
  expect(found.sources).toEqual([source]);
  const { signal } = new AbortController();
  expect(await measureSources(deps, "w", sources as Source[], signal)).toEqual({
    states: [source],
    missingNodes: [],
  });
});

test("a destination waits for its own code that is slow, or is blocked while no code can run", async () => {
  const destinations = [{ id: "slow" }, { id: "other" }, { id: "plain" }];
  const lanes = { slow: {}, other: {}, plain: {} };
  const stateWith = async (slow: string[], checks: object = {}) => {
    const deps = scene({ destinations, lanes });
    const read: string[] = [];
    const since = new Map(slow.map((id) => [id, Date.now()]));
    Object.assign(deps, { slowCode: () => since, ready: () => ({ warnings: [], checks }) });
    Object.assign(deps.catalog, {
      code: {
        linkedTransformation: ({ id }: { id: string }) => (id === "plain" ? undefined : `t-${id}`),
        publishedRevision: (workspaceId: string, kind: string, id: string) => {
          read.push(`${workspaceId} ${kind} ${id}`);
          return { revision: { versionId: `${id}-1`, name: "T", language: "javascript" } };
        },
      },
    });
    Object.assign(deps.catalog.destinations, { withIds: () => destinations });
    const found = await workspaceState(deps, "w");
    expect(new Set(read)).toEqual(new Set(["w transformation t-slow", "w transformation t-other"]));
    return found.destinations.map(({ state }) => state);
  };
  expect(await stateWith([])).toEqual(["ok", "ok", "ok"]);
  expect(await stateWith(["t-slow-1"])).toEqual(["waiting", "ok", "ok"]);
  const checks = { sandbox: { ok: false, message: "No guest starts" } };
  expect(await stateWith([], checks)).toEqual(["blocked", "blocked", "ok"]);
});

test("the health of a node has its failed checks, and in a cluster its partitions", () => {
  const diskSpace = () => ({ freeBytes: 1, sizeBytes: 2 });
  const checks = { log: { ok: false, message: "full" }, odd: { ok: false }, fine: { ok: true } };
  const ready = () => ({ ready: false, checks, warnings: ["Old"] });
  const alone = {
    ...{ troubles: ["log: full", "odd: not ready"], warnings: ["Old"], disk: diskSpace() },
  };
  expect(localHealth({ ready, diskSpace })).toEqual(alone);
  const stopped = [{ partition: 2, reason: "No guest starts" }];
  const others = { node: "a", running: () => [1], stopped: () => stopped } as never;
  expect(localHealth({ ready, diskSpace, others })).toEqual({ ...alone, running: [1], stopped });
});
