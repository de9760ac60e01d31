import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { Registry } from "prom-client";
import type { LiveProgram } from "../../src/catalog/live.ts";
import type { LaneGauges } from "../../src/pipeline/monitoring/lane-gauges.ts";
import { createLaneMetrics } from "../../src/pipeline/monitoring/metrics.ts";
import { TenantLabels } from "../../src/pipeline/monitoring/tenant-labels.ts";
import { createTransformationMetrics } from "../../src/pipeline/monitoring/transformation-metrics.ts";
import { METRICS_DESTINATIONS_MAX } from "../../src/settings/limits.ts";
import { record } from "./doubles.ts";
import { numbersTo, Rig, until } from "./rig.ts";

// Waits end by conditions; a busy machine gets its time.
setDefaultTimeout(300_000);

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

/** Lines of our metrics, sorted, without the buckets and the times. */
async function shown(metrics: Registry): Promise<string[]> {
  const lines = (await metrics.metrics()).split("\n");
  const ours = /^pixelmill_(lane|delivery|transform|dead|log)/;
  return lines
    .filter(
      (line) => ours.test(line) && !/_bucket|_sum|lag_seconds|transformation_seconds/.test(line),
    )
    .sort();
}

test("metrics count what lanes did, and forget a lane that is removed", async () => {
  const metrics = new Registry();
  const sink = rig.webhook(
    "one",
    ([event]) => new Response("", { status: event!.n === 0 ? 400 : 200 }),
  );
  rig.sandbox.codes.set("code", (event) => {
    if (event.n === 1) return null;
    if (event.n === 2) throw new Error("Two");
    return event;
  });
  rig.live.publish("one", "code", "v1");
  rig.start({ metrics });
  rig.log.append(...numbersTo(6).map((n) => record(n)));
  rig.log.appendBytes(Buffer.from("not a record"));
  rig.log.append(record(6));
  await until(() => sink.taken.length === 4 && rig.pipeline.deadLetters.count("workspace") === 2);
  const lane = 'destination="one",name="To one",kind="webhook"';
  const version = 'workspace="workspace",transformation="transformation",version="v1"';
  const settled = async () =>
    (await shown(metrics)).includes(`pixelmill_lane_lag_events{${lane}} 0`);
  while (!(await settled())) await Bun.sleep(5);
  const batches = rig.sandbox.batches.length;
  expect(await shown(metrics)).toEqual([
    'pixelmill_dead_letters{workspace="workspace",destination="one"} 2',
    `pixelmill_delivery_attempts_total{${lane},verdict="delivered"} 4`,
    `pixelmill_delivery_attempts_total{${lane},verdict="rejected"} 1`,
    `pixelmill_delivery_seconds_count{kind="webhook"} 5`,
    `pixelmill_lane_events_total{${lane},outcome="dead-letter"} 2`,
    `pixelmill_lane_events_total{${lane},outcome="delivered"} 4`,
    `pixelmill_lane_events_total{${lane},outcome="dropped"} 1`,
    `pixelmill_lane_lag_events{${lane}} 0`,
    `pixelmill_lane_sandbox_waiting{${lane}} 0`,
    "pixelmill_lanes_held_bytes 0",
    'pixelmill_log_unreadable_records_total{log="0"} 1',
    `pixelmill_transform_seconds_count{kind="webhook"} ${batches}`,
    `pixelmill_transformation_events_total{${version},outcome="dropped"} 1`,
    `pixelmill_transformation_events_total{${version},outcome="failed"} 1`,
    `pixelmill_transformation_events_total{${version},outcome="passed"} 5`,
  ]);
  rig.live.remove("one");
  await until(() => rig.pipeline.deadLetters.count("workspace") === 0);
  expect(await shown(metrics)).toEqual([
    'pixelmill_delivery_seconds_count{kind="webhook"} 5',
    "pixelmill_lanes_held_bytes 0",
    'pixelmill_log_unreadable_records_total{log="0"} 1',
    `pixelmill_transform_seconds_count{kind="webhook"} ${batches}`,
    `pixelmill_transformation_events_total{${version},outcome="dropped"} 1`,
    `pixelmill_transformation_events_total{${version},outcome="failed"} 1`,
    `pixelmill_transformation_events_total{${version},outcome="passed"} 5`,
  ]);
});

test("metrics show only the new name and the new revision, and zero dead letters as 0", async () => {
  const metrics = new Registry();
  const sink = rig.webhook("one");
  rig.live.publish("one", "same", "v1");
  rig.sandbox.codes.set("same", (event) => event);
  rig.start({ metrics });
  rig.log.append(record(0));
  const delivered = async (name: string) => {
    const labels = `destination="one",name="${name}",kind="webhook"`;
    const line = `pixelmill_lane_events_total{${labels},outcome="delivered"} 1`;
    while (!(await shown(metrics)).includes(line)) await Bun.sleep(5);
  };
  await delivered("To one");
  rig.live.publish("one", "same", "v2");
  rig.live.putDestination("one", { name: "New" });
  rig.log.append(record(1));
  await delivered("New");
  expect(sink.taken).toHaveLength(2);
  const lines = (await metrics.metrics()).split("\n").filter((line) => /^pixelmill/.test(line));
  const of = (name: string) => lines.filter((line) => line.startsWith(`${name}{`));
  expect(of("pixelmill_dead_letters")).toEqual([
    'pixelmill_dead_letters{workspace="workspace",destination="one"} 0',
  ]);
  expect(of("pixelmill_delivery_attempts_total")).toEqual([
    'pixelmill_delivery_attempts_total{destination="one",name="New",kind="webhook",verdict="delivered"} 1',
  ]);
  const version = 'workspace="workspace",transformation="transformation",version="v2"';
  expect(of("pixelmill_transformation_events_total")).toEqual([
    `pixelmill_transformation_events_total{${version},outcome="passed"} 1`,
  ]);
  expect(of("pixelmill_transformation_seconds_total")).toHaveLength(1);
});

/** Gauges of one of many lanes; counts how often the lane is asked. */
function laneOf(n: number, asked: { count: number }): LaneGauges {
  return {
    labels: { destination: `d${n}`, name: `Secret ${n}`, kind: n % 2 === 0 ? "webhook" : "file" },
    workspace: `w${n % 7}`,
    lagEvents: () => {
      asked.count += 1;
      return 1;
    },
    lagSeconds: () => n,
    isWaitingForSandbox: () => false,
    sourceIds: () => [],
    failure: undefined,
    refusal: undefined,
    lastFailure: undefined,
  };
}

/** Metrics of this many lanes, each with a dead letter and a delivered event. */
function metricsOf(count: number, areTenantsShown: boolean) {
  const registry = new Registry();
  const asked = { count: 0 };
  const lanes = numbersTo(count).map((n) => laneOf(n, asked));
  const deadLetters = lanes.map(({ workspace, labels }) => ({
    ...{ workspaceId: workspace, destinationId: labels.destination, count: 1 },
  }));
  const sources = {
    lanes: () => lanes,
    deadLetters: () => deadLetters,
    heldBytes: () => 0,
    heldLogs: () => ["7"],
  };
  const metrics = createLaneMetrics(registry, sources, new TenantLabels(areTenantsShown));
  for (const { labels, workspace } of lanes) {
    metrics.events.inc({ ...labels, outcome: "delivered" });
    metrics.deadLettersDropped.inc({ workspace, bound: "age" });
  }
  return { registry, asked, metrics, lanes };
}

test("metrics without tenants add up all lanes, and are as long with five thousand as with two", async () => {
  const { registry, asked, metrics, lanes } = metricsOf(5_000, false);
  const text = await registry.metrics();
  expect(/Secret|destination="|workspace="|d4999/.exec(text)).toBeNull();
  for (const line of [
    'pixelmill_lane_lag_events{kind="webhook"} 2500',
    'pixelmill_lane_lag_seconds{kind="file"} 4999',
    "pixelmill_oldest_undelivered_seconds 4999",
    'pixelmill_lane_sandbox_waiting{kind="file"} 0',
    "pixelmill_dead_letters 5000",
    'pixelmill_log_newer_version{log="7"} 1',
    'pixelmill_lane_events_total{kind="file",outcome="delivered"} 2500',
    'pixelmill_dead_letters_dropped_total{bound="age"} 5000',
  ]) {
    expect([line, text.split("\n").includes(line)]).toEqual([line, true]);
  }
  const few = await metricsOf(2, false).registry.metrics();
  expect(text.split("\n").length).toBe(few.split("\n").length);
  // Four gauges and the dead letters share one look at each lane.
  expect(asked.count).toBe(5_000);
  // A counter does not fall when a lane goes.
  for (const { labels } of lanes) metrics.removeLane({ ...labels });
  const after = await registry.metrics();
  expect(after.includes('{kind="file",outcome="delivered"} 2500')).toBe(true);
});

test("metrics with tenants label a bounded number of destinations, and add up the others", async () => {
  const count = METRICS_DESTINATIONS_MAX + 1_000;
  const { registry, metrics, lanes } = metricsOf(count, true);
  const text = await registry.metrics();
  const labelled = text.match(/^pixelmill_lane_lag_events\{destination=/gm);
  expect(labelled?.length).toBe(METRICS_DESTINATIONS_MAX);
  const others = text.match(/^pixelmill_lane_lag_events\{kind="(webhook|file)"\} 500$/gm);
  expect(others?.length).toBe(2);
  const sum = [...text.matchAll(/^pixelmill_dead_letters(?:\{[^}]*\})? (\d+)$/gm)];
  expect(sum.reduce((letters, [, value]) => letters + Number(value), 0)).toBe(count);
  // A destination that goes makes room for another.
  metrics.removeLane({ ...lanes.shift()!.labels });
  const next = `name="Secret ${METRICS_DESTINATIONS_MAX}"`;
  expect([text.includes(next), (await registry.metrics()).includes(next)]).toEqual([false, true]);
});

test("metrics show a bounded number of transformations, those that ran last", async () => {
  const registry = new Registry();
  const { recordRun } = createTransformationMetrics(registry, new TenantLabels(true));
  const run = (n: number) => {
    const transformation = { id: `t${n}`, versionId: `v${n}` };
    const outcomes = [{ events: [Buffer.from("{}")] }, { events: [] }, { error: { message: "" } }];
    return recordRun({ workspaceId: "w", transformation } as LiveProgram, outcomes, 2);
  };
  const shown = async () => {
    const text = await registry.metrics();
    const events = text.matchAll(/_events_total\{.*transformation="(\w+)",.*outcome="passed"\}/g);
    const seconds = text.matchAll(/_seconds_total\{.*transformation="(\w+)",.*\} \d/g);
    return [events, seconds].map((lines) => Array.from(lines, ([, id]) => id));
  };
  expect(run(0)).toEqual({ passed: 1, dropped: 1, failed: 1 });
  for (const n of numbersTo(2_000).slice(1)) run(n);
  expect((await shown()).map((ids) => ids.length)).toEqual([2_000, 2_000]);
  run(0);
  run(2_000);
  for (const ids of await shown()) {
    expect(ids).not.toContain("t1");
    expect(ids).toEqual(expect.arrayContaining(["t0", "t2", "t2000"]));
  }
});
