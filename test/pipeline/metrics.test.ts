import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { Registry } from "prom-client";
import { record } from "./doubles.ts";
import { numbersTo, Rig, until } from "./rig.ts";

// Waits end by conditions; a busy machine gets its time.
setDefaultTimeout(30_000);

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

/** Lines of our metrics, sorted, without the buckets and the times. */
async function shown(metrics: Registry): Promise<string[]> {
  const lines = (await metrics.metrics()).split("\n");
  const ours = /^pixelmill_(lane|delivery|transform|dead|log)/;
  return lines.filter((line) => ours.test(line) && !/_bucket|_sum|lag_seconds/.test(line)).sort();
}

test("what lanes did is counted, and forgotten with the lane", async () => {
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
  const lane = 'destination="one",kind="webhook"';
  const settled = async () =>
    (await shown(metrics)).includes(`pixelmill_lane_lag_events{${lane}} 0`);
  while (!(await settled())) await Bun.sleep(5);
  const batches = rig.sandbox.batches.length;
  expect(await shown(metrics)).toEqual([
    'pixelmill_dead_letters{workspace="workspace"} 2',
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
  ]);
  rig.live.remove("one");
  await until(() => rig.pipeline.deadLetters.count("workspace") === 0);
  expect(await shown(metrics)).toEqual([
    'pixelmill_delivery_seconds_count{kind="webhook"} 5',
    "pixelmill_lanes_held_bytes 0",
    'pixelmill_log_unreadable_records_total{log="0"} 1',
    `pixelmill_transform_seconds_count{kind="webhook"} ${batches}`,
  ]);
});
