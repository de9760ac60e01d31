import { afterEach, beforeEach, expect, type Mock, spyOn, test } from "bun:test";
import { createMetrics } from "../../src/observe/metrics.ts";
import { LaneReader } from "../../src/pipeline/reading/lane-reader.ts";
import { holds } from "../until.ts";
import { record } from "./doubles.ts";
import { numbersTo, Rig, Sink, until } from "./rig.ts";

let rig: Rig;
let spy: Mock<LaneReader["take"]> | undefined;
beforeEach(() => {
  rig = new Rig();
  rig.live.addSource("other");
});
afterEach(() => {
  spy?.mockRestore();
  return rig.end();
});

const other = { sourceId: "other" };

test("events of another source wake no lane, however many lanes are idle", async () => {
  const sink = new Sink();
  rig.sinks.push(sink);
  for (const n of numbersTo(200)) {
    rig.live.putDestination(`one ${n}`, { config: { webhookUrl: sink.url } });
    rig.live.connect(`one ${n}`);
  }
  const looks = countLooks();
  rig.start();
  rig.log.append(record(0));
  await until(() => sink.taken.length === 200);
  // A lane that has taken an event looks for another one a little later.
  await until(() => looks.found === 200 && looks.vain === 200);
  const before = rig.log.endCalls;
  for (const n of numbersTo(100)) {
    rig.log.append(record(n, "ann", other));
    await Bun.sleep(0);
  }
  // One look at the log's end for each append, and one for each pass of the trimmer.
  expect(rig.log.endCalls - before).toBeLessThan(110);
  expect(looks).toEqual({ found: 200, vain: 200 });
  rig.log.append(record(1));
  await until(() => sink.taken.length === 400);
});

test("events of a source wake no lane that was disconnected from it", async () => {
  const sink = rig.webhook("one");
  const ofOther = rig.live.connect("one", {}, other);
  const looks = countLooks();
  rig.start();
  rig.log.append(record(0), record(1, "ann", other));
  await until(() => sink.taken.length === 2);
  rig.live.disconnect(ofOther);
  rig.log.append(record(2));
  await until(() => sink.taken.length === 3);
  const before = looks.vain;
  for (const n of numbersTo(50)) {
    rig.log.append(record(10 + n, "ann", other));
    await Bun.sleep(0);
  }
  // A lane that has taken an event looks for another one.
  expect(looks.vain - before).toBeLessThan(5);
  rig.log.append(record(3));
  await until(() => sink.taken.length === 4);
});

/** Counts the looks of all lanes for new events that have ended: those that found some, or none. */
function countLooks(): { found: number; vain: number } {
  const counts = { found: 0, vain: 0 };
  const { take } = LaneReader.prototype;
  spy = spyOn(LaneReader.prototype, "take").mockImplementation(async function (
    this: LaneReader,
    ...bounds
  ) {
    const events = await take.apply(this, bounds);
    counts[events.length > 0 ? "found" : "vain"] += 1;
    return events;
  });
  return counts;
}

test("events of a source wake no lane of a disabled destination, and it misses none of its own", async () => {
  const sink = rig.webhook("one");
  const disabled = rig.webhook("disabled");
  rig.start();
  rig.log.append(record(0));
  await until(() => sink.taken.length === 1 && disabled.taken.length === 1);
  // The end of the connection can be ahead of what a node of a cluster has read.
  const ofDisabled = [...rig.live.connections.values()].find(
    (it) => it.destinationId === "disabled",
  );
  rig.live.change(ofDisabled!.id, { until: { 0: 2 } });
  await Bun.sleep(0);
  rig.log.append(record(1));
  await until(() => disabled.taken.length === 2);
  rig.log.append(record(2));
  await until(() => sink.taken.length === 3);
  expect(disabled.numbers()).toEqual([0, 1]);
});

test("an idle lane commits its cursor past events of other sources", async () => {
  const sink = rig.webhook("one");
  const metrics = createMetrics();
  rig.start({ metrics });
  rig.log.append(record(0));
  await until(() => sink.taken.length === 1);
  const lag = metrics.getSingleMetric("pixelmill_lane_lag_events")!;
  const lagNow = async () => (await lag.get()).values[0]!.value;
  while ((await lagNow()) > 0) await Bun.sleep(5);
  rig.log.append(...numbersTo(50).map((n) => record(n, "ann", other)));
  expect(await lagNow()).toBe(0);
  await rig.stop();
  rig.log.append(record(1));
  const looks = rig.log.endCalls;
  rig.start();
  await until(() => sink.taken.length === 2);
  expect(sink.numbers()).toEqual([0, 1]);
  expect(rig.log.endCalls - looks).toBeLessThan(50);
});

test("a connection that is made while its lane is idle gets the events since its start", async () => {
  const sink = rig.webhook("one");
  rig.start();
  rig.log.append(record(0));
  await until(() => sink.taken.length === 1);
  await Bun.sleep(20);
  rig.log.append(...numbersTo(3).map((n) => record(10 + n, "ann", other)));
  const from = { 0: rig.log.end() };
  // The lane sees the connection only when it next reads the catalog.
  rig.live.connections.set("late", {
    ...rig.live.connections.values().next().value!,
    ...{ id: "late", sourceId: "other", from },
  });
  rig.log.append(...numbersTo(3).map((n) => record(20 + n, "ann", other)));
  rig.live.change("late", {});
  rig.log.append(record(1));
  await until(() => sink.taken.length === 5);
  await holds(30, () =>
    expect(sink.numbers().toSorted((a, b) => a - b)).toEqual([0, 1, 20, 21, 22]),
  );
});

test("an idle lane passes events of other sources that arrive during its read", async () => {
  const sink = rig.webhook("one");
  const metrics = createMetrics();
  rig.start({ metrics });
  const lag = metrics.getSingleMetric("pixelmill_lane_lag_events")!;
  const lagNow = async () => (await lag.get()).values[0]!.value;
  const { end } = rig.log;
  // At each of the moments in which a lane that has taken an event asks for the log's end.
  for (const moment of numbersTo(12)) {
    let calls = 0;
    rig.log.end = () => {
      if (calls++ === moment) queueMicrotask(() => rig.log.append(record(0, "ann", other)));
      return end();
    };
    rig.log.append(record(moment));
    await until(() => sink.taken.length > moment);
    await Bun.sleep(20);
    rig.log.end = end;
    while ((await lagNow()) > 0) await Bun.sleep(5);
  }
}, 300_000);
