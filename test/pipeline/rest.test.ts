import { afterEach, beforeEach, expect, type Mock, spyOn, test } from "bun:test";
import { systemClock } from "../../src/pipeline/clock.ts";
import { ActiveLane } from "../../src/pipeline/lane/active-lane.ts";
import { LANE_IDLE_MS } from "../../src/pipeline/limits.ts";
import { MemoryBudget } from "../../src/pipeline/memory-budget.ts";
import { LaneReader } from "../../src/pipeline/reading/lane-reader.ts";
import { encodeRecord, record } from "./doubles.ts";
import { numbersTo, Rig, Sink, until } from "./rig.ts";

const LANES = 100;
let rig: Rig;
let aheadMs = 0;
const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + aheadMs };
/** The parts that lanes have had while they were active. */
let parts: Set<WeakRef<object>>;
let seen: WeakSet<object>;
let spies: Mock<(...of: never[]) => unknown>[];

beforeEach(() => {
  rig = new Rig();
  rig.live.addSource("other");
  parts = new Set();
  seen = new WeakSet();
  const { openLane } = MemoryBudget.prototype;
  const { take } = LaneReader.prototype;
  const { wake } = ActiveLane.prototype;
  spies = [
    spyOn(MemoryBudget.prototype, "openLane").mockImplementation(function (
      this: MemoryBudget,
      ...of
    ) {
      return noted(openLane.apply(this, of));
    }),
    spyOn(LaneReader.prototype, "take").mockImplementation(function (this: LaneReader, ...of) {
      return take.apply(noted(this), of);
    }),
    spyOn(ActiveLane.prototype, "wake").mockImplementation(function (this: ActiveLane) {
      wake.call(noted(this));
    }),
  ] as unknown as typeof spies;
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
  return rig.end();
});

function noted<T extends object>(part: T): T {
  if (!seen.has(part)) parts.add(new WeakRef(part));
  seen.add(part);
  return part;
}

function connectLanes(): Sink {
  const sink = new Sink();
  rig.sinks.push(sink);
  for (const n of numbersTo(LANES)) {
    rig.live.putDestination(`one ${n}`, { config: { webhookUrl: sink.url } });
    rig.live.connect(`one ${n}`);
  }
  return sink;
}

/** Waits until the lanes have let go of their working parts. */
async function restingParts(): Promise<void> {
  // A reference may be left on a stack.
  await until(() => {
    for (const spy of spies) spy.mockClear();
    Bun.gc(true);
    for (const part of parts) if (part.deref() === undefined) parts.delete(part);
    return parts.size <= 3;
  }, "the working parts of lanes to be freed");
}

test("a lane that was active and has settled everything holds no more than one that never was", async () => {
  const sink = connectLanes();
  rig.start({ clock });
  for (const n of [0, 1, 2]) {
    rig.log.append(record(n));
    await until(() => sink.taken.length === LANES * (n + 1));
    Bun.gc(true);
    expect(parts.size).toBeGreaterThanOrEqual(2 * LANES);
    aheadMs += LANE_IDLE_MS;
    await restingParts();
    // Records of others wake none, and are passed.
    rig.log.append(record(0, "ann", { sourceId: "other" }));
  }
  await rig.stop();
  rig.start({ clock });
  rig.log.append(record(3));
  await until(() => sink.taken.length >= LANES * 4);
  expect(sink.taken.length).toBe(LANES * 4);
}, 300_000);

test("records of sources without lanes start no working parts of any lane", async () => {
  const sink = connectLanes();
  const others = (count: number) =>
    numbersTo(count).map((n) => encodeRecord(record(n, "ann", { sourceId: "other" })));
  rig.log.appendBytes(...others(100));
  const pipeline = rig.start({ clock });
  const isThrough = () =>
    numbersTo(LANES).every((n) => pipeline.status(`one ${n}`)?.lagEvents === 0);
  await until(isThrough, "the lanes to pass the records");
  // More than one read.
  for (const count of [1, 1_200]) {
    rig.log.appendBytes(...others(count));
    await until(isThrough, "the lanes to pass the records");
  }
  expect(parts.size).toBe(0);
  rig.log.appendBytes(...others(700), encodeRecord(record(1)), ...others(700));
  await until(() => sink.taken.length === LANES);
  rig.log.append(record(2));
  await until(() => sink.taken.length === 2 * LANES);
}, 300_000);

test("a lane that rests shows its last failure until its config changes", async () => {
  let status = 400;
  const sink = connectLanes();
  sink.answer = () => new Response("", { status });
  const pipeline = rig.start({ clock });
  const lastFailure = (id = "one 7") => pipeline.status(id)?.lastFailure?.reason ?? "";
  rig.log.append(record(0));
  await until(() => sink.requests === LANES && lastFailure() !== "");
  status = 200;
  rig.log.append(record(1));
  await until(() => sink.taken.length === LANES);
  aheadMs += LANE_IDLE_MS;
  await restingParts();
  expect(lastFailure()).toContain("400");
  rig.live.putDestination("one 7", { name: "Renamed" });
  rig.live.putDestination("one 8", { config: { webhookUrl: `${sink.url}other` } });
  // Any new record makes the pipeline read the catalog.
  rig.log.append(record(2, "ann", { sourceId: "other" }));
  await until(() => lastFailure("one 8") === "");
  expect(lastFailure()).toContain("400");
}, 300_000);
