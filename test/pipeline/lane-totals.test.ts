import { afterEach, expect, setSystemTime, test } from "bun:test";
import { Counter, Registry } from "prom-client";
import type { LiveProgram } from "../../src/catalog/live.ts";
import { MINUTE_MS, MinuteCounters } from "../../src/figures/minute-counters.ts";
import type { ReplayJob } from "../../src/pipeline/model/replay-job.ts";
import type { LaneGauges } from "../../src/pipeline/monitoring/lane-gauges.ts";
import { createLaneMetrics, createLaneTotals } from "../../src/pipeline/monitoring/metrics.ts";
import { TenantLabels } from "../../src/pipeline/monitoring/tenant-labels.ts";
import {
  createTransformationMetrics,
  recordRunFigures,
} from "../../src/pipeline/monitoring/transformation-metrics.ts";
import { registerReplayMetrics } from "../../src/pipeline/replays/metrics.ts";
import { METRICS_DESTINATIONS_MAX } from "../../src/settings/limits.ts";

interface Numbers {
  events?: number;
  seconds?: number;
  isWaiting?: boolean;
}
function lane(destination: string, kind: string, numbers: Numbers = {}): LaneGauges {
  const { events = 0, seconds = 0, isWaiting = false } = numbers;
  return {
    labels: { destination, name: `To ${destination}`, kind },
    workspace: `w of ${destination}`,
    lagEvents: () => events,
    lagSeconds: () => seconds,
    isWaitingForSandbox: () => isWaiting,
    sourceIds: () => [],
    ...{ failure: undefined, refusal: undefined, lastFailure: undefined },
  };
}

afterEach(() => {
  setSystemTime();
});

const lanes = [
  lane("a", "webhook", { events: 3, seconds: 20, isWaiting: true }),
  lane("b", "webhook", { events: 1, seconds: 4 }),
  lane("a", "webhook", { events: 5, seconds: 7 }),
  lane("c", "file", { events: 2, seconds: 9 }),
];

const live = (versionId = "v") =>
  ({ workspaceId: "w", transformation: { id: "t", versionId } }) as LiveProgram;

test("lanes of one destination have one total, the sum of their events and the longest time", async () => {
  const totals = await createLaneTotals(() => lanes, new TenantLabels(true))();
  const letters = (destination: string) => ({ workspace: `w of ${destination}`, destination });
  const labels = (destination: string, kind: string) => ({
    labels: { destination, name: `To ${destination}`, kind },
    letterLabels: letters(destination),
  });
  expect(totals).toEqual([
    { ...labels("a", "webhook"), lagEvents: 8, lagSeconds: 20, isWaitingForSandbox: true },
    { ...labels("b", "webhook"), lagEvents: 1, lagSeconds: 4, isWaitingForSandbox: false },
    { ...labels("c", "file"), lagEvents: 2, lagSeconds: 9, isWaitingForSandbox: false },
  ]);
});

test("without tenants there is one total for each kind of destination, and its letters have no labels", async () => {
  const totals = await createLaneTotals(() => lanes.toReversed(), new TenantLabels(false))();
  const of = (kind: string) => ({ labels: { kind }, letterLabels: {} });
  expect(totals).toEqual([
    { ...of("file"), lagEvents: 2, lagSeconds: 9, isWaitingForSandbox: false },
    { ...of("webhook"), lagEvents: 9, lagSeconds: 20, isWaitingForSandbox: true },
  ]);
});

test("calls at one time share a total, and a later one has the lanes of its time", async () => {
  let count = 0;
  const totals = createLaneTotals(() => lanes.slice(0, ++count), new TenantLabels(true));
  const [one, other] = await Promise.all([totals(), totals()]);
  expect(other).toBe(one!);
  expect(count).toBe(1);
  expect((await totals()).map(({ labels }) => labels.destination)).toEqual(["a", "b"]);
});

test("a total that fails is made anew at the next call", async () => {
  let isBroken = true;
  const from = () => {
    if (isBroken) throw new Error("Closed");
    return lanes;
  };
  const totals = createLaneTotals(from, new TenantLabels(true));
  await expect(totals()).rejects.toThrow("Closed");
  isBroken = false;
  expect(await totals()).toHaveLength(3);
});

test("labels of tenants are shown where they may be, and others always", () => {
  const labels = {
    ...{ destination: "d", name: "D", kind: "file", workspace: "w" },
    ...{ transformation: "t", version: "v", outcome: "failed" },
  };
  expect(new TenantLabels(true).shown(labels)).toBe(labels);
  expect(new TenantLabels(false).shown(labels)).toEqual({ kind: "file", outcome: "failed" });
  expect(labels.destination).toBe("d");
});

test("a destination beyond the bound has no labels until another one is forgotten", () => {
  const tenants = new TenantLabels(true);
  for (let n = 0; n < METRICS_DESTINATIONS_MAX; n++) tenants.shown({ destination: `d${n}` });
  expect(tenants.shown({ destination: "last", kind: "file" })).toEqual({ kind: "file" });
  expect(tenants.shown({ workspace: "w" })).toEqual({ workspace: "w" });
  tenants.forget("d7");
  expect(tenants.shown({ destination: "last" })).toEqual({ destination: "last" });
  expect(tenants.shown({ destination: "d7" })).toEqual({});
  expect(tenants.shown({ destination: "d8" })).toEqual({ destination: "d8" });
});

test("a tenant's counter adds one or the given number, and is removed with its tenant", async () => {
  const registry = new Registry();
  const labelNames = ["workspace", "kind"];
  const countOf = (name: string, areShown: boolean) => {
    const counter = new Counter({ name, help: name, labelNames, registers: [registry] });
    return new TenantLabels(areShown).counter(counter);
  };
  const [shown, hidden] = [countOf("shown", true), countOf("hidden", false)];
  const labels = { workspace: "w", kind: "file" };
  const lines = async () => (await registry.metrics()).split("\n").filter((it) => /^[sh]/.test(it));
  for (const counter of [shown, hidden]) {
    counter.inc(labels);
    counter.inc(labels, 4);
  }
  expect(await lines()).toEqual(['shown{workspace="w",kind="file"} 5', 'hidden{kind="file"} 5']);
  for (const counter of [shown, hidden]) counter.remove(labels);
  expect(await lines()).toEqual(['hidden{kind="file"} 5']);
});

test("running replays are counted by kind, each once however many nodes it runs on", async () => {
  const registry = new Registry();
  const job = (id: string, kind: ReplayJob["kind"]) => ({ id, kind }) as ReplayJob;
  let running = [job("1", "events"), job("2", "purge"), job("1", "events"), job("3", "events")];
  registerReplayMetrics(registry, () => running);
  const lines = async () => (await registry.metrics()).match(/^pixelmill_replays_running.*/gm);
  expect(await lines()).toEqual([
    'pixelmill_replays_running{kind="events"} 2',
    'pixelmill_replays_running{kind="dead-letters"} 0',
    'pixelmill_replays_running{kind="purge"} 1',
  ]);
  running = [job("4", "dead-letters")];
  expect((await lines())?.map((line) => line.at(-1))).toEqual(["0", "1", "0"]);
});

test("a run of code adds its events and its time to the transformation's figures", () => {
  const now = 100 * MINUTE_MS;
  setSystemTime(now);
  const runs = new MinuteCounters(10);
  recordRunFigures(runs, "t", { passed: 4, dropped: 2, failed: 1 }, 0.001);
  recordRunFigures(runs, "t", { passed: 0, dropped: 1, failed: 0 }, 3_600);
  recordRunFigures(runs, "idle", { passed: 0, dropped: 0, failed: 0 }, 0);
  expect(Object.fromEntries(runs.rows(now))).toEqual({
    t: [8, 4, 3, 1, 0, 0, 0, 0, 1, 27, 1],
    idle: [0, 0, 0, 0, 0, 0, 0, 0, 1],
  });
});

test("a run is counted for its destination's kind, its revision and the transformation", async () => {
  const registry = new Registry();
  const { recordRun } = createTransformationMetrics(registry, new TenantLabels(true));
  const passed = { events: [Buffer.from("{}")] };
  const lines = async () => (await registry.metrics()).match(/^pixelmill.*/gm);
  recordRun(live("v1"), [passed, { events: [] }], 2);
  recordRun(live("v1"), [passed], 0.5);
  const shown = (version: string) => `{workspace="w",transformation="t",version="${version}"`;
  expect(await lines()).toEqual([
    `pixelmill_transformation_events_total${shown("v1")},outcome="passed"} 2`,
    `pixelmill_transformation_events_total${shown("v1")},outcome="dropped"} 1`,
    `pixelmill_transformation_seconds_total${shown("v1")}} 2.5`,
  ]);
  recordRun(live("v2"), [{ error: { message: "No" } }], 1);
  expect(await lines()).toEqual([
    `pixelmill_transformation_events_total${shown("v2")},outcome="failed"} 1`,
    `pixelmill_transformation_seconds_total${shown("v2")}} 1`,
  ]);
});

/** Metrics of no lanes, and a function that returns the lines of their counters. */
function metricsOf() {
  const registry = new Registry();
  const none = { lanes: () => [], deadLetters: () => [], heldBytes: () => 12, heldLogs: () => [] };
  const metrics = createLaneMetrics(registry, none);
  const lines = async (name: string) => {
    const text = await registry.metrics();
    return text.split("\n").filter((line) => line.startsWith(`pixelmill_${name}`));
  };
  return { metrics, lines };
}

test("a lane that is renamed or removed loses the counters of its name, of each outcome and verdict", async () => {
  const { metrics, lines } = metricsOf();
  const labels = { destination: "d", name: "Old", kind: "file" };
  const count = () => {
    for (const outcome of ["delivered", "dropped", "discarded", "dead-letter"]) {
      metrics.events.inc({ ...labels, outcome });
    }
    for (const verdict of ["delivered", "rejected", "retry"]) {
      metrics.attempts.inc({ ...labels, verdict });
    }
  };
  const names = async () => {
    const all = [
      ...(await lines("lane_events_total")),
      ...(await lines("delivery_attempts_total")),
    ];
    return all.map((line) => /name="(\w+)"/.exec(line)?.[1]);
  };
  count();
  metrics.renameLane(labels, "Old");
  expect(await names()).toEqual(Array.from({ length: 7 }, () => "Old"));
  metrics.renameLane(labels, "New");
  expect([labels.name, await names()]).toEqual(["New", []]);
  count();
  expect(await names()).toEqual(Array.from({ length: 7 }, () => "New"));
  metrics.removeLane(labels);
  expect(await names()).toEqual([]);
});

test("metrics of no lanes say that nothing waits", async () => {
  const { lines } = metricsOf();
  expect([
    await lines("oldest_undelivered_seconds"),
    await lines("lanes_held_bytes"),
    await lines("dead_letters"),
    await lines("log_newer_version"),
  ]).toEqual([
    ["pixelmill_oldest_undelivered_seconds 0"],
    ["pixelmill_lanes_held_bytes 12"],
    [],
    [],
  ]);
});

test("a batch of code counts in the histogram of its kind and in the figures", async () => {
  const { metrics, lines } = metricsOf();
  setSystemTime(100 * MINUTE_MS);
  metrics.recordRun({ destination: "d", name: "D", kind: "file" }, live(), [{ events: [] }], 0.1);
  expect([...metrics.runs.rows(Date.now())].map(([id, row]) => [id, row.slice(0, 3)])).toEqual([
    ["t", [1, 0, 1]],
  ]);
  const told = await lines("transform_seconds_");
  expect(told.filter((line) => line.includes('le="0.02"'))).toEqual([
    'pixelmill_transform_seconds_bucket{le="0.02",kind="file"} 0',
  ]);
  expect(told).toContain('pixelmill_transform_seconds_bucket{le="0.1",kind="file"} 1');
  expect(told).toContain('pixelmill_transform_seconds_sum{kind="file"} 0.1');
});

test("a destination's dead letters are shown, and 0 where a lane has none", async () => {
  const registry = new Registry();
  const letters = [
    { workspaceId: "w of a", destinationId: "a", count: 4 },
    { workspaceId: "w of gone", destinationId: "gone", count: 0 },
    { workspaceId: "w of a", destinationId: "a", count: 3 },
  ];
  createLaneMetrics(registry, {
    ...{ lanes: () => lanes, deadLetters: () => letters, heldBytes: () => 0 },
    heldLogs: () => ["1", "4"],
  });
  const text = await registry.metrics();
  const shown = (id: string, count: number) =>
    `pixelmill_dead_letters{workspace="w of ${id}",destination="${id}"} ${count}`;
  expect(text.match(/^pixelmill_dead_letters\{.*/gm)).toEqual([
    shown("a", 7),
    shown("b", 0),
    shown("c", 0),
  ]);
  expect(text.match(/^pixelmill_log_newer.*/gm)).toEqual([
    'pixelmill_log_newer_version{log="1"} 1',
    'pixelmill_log_newer_version{log="4"} 1',
  ]);
  expect(text.match(/^pixelmill_lane_sandbox_waiting.*/gm)?.map((line) => line.at(-1))).toEqual([
    ...["1", "0", "0"],
  ]);
});
