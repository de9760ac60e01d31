import { describe, expect, test } from "bun:test";
import type { DeliveryResult } from "../../src/destinations/destination.ts";
import {
  LaneDeliveryRig,
  SimulatedClock,
  simulatedKind,
  type TestEvent,
} from "./lane-delivery-rig.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const YEARS = 20 * 365 * 24 * HOUR;

const failure: DeliveryResult = { kind: "retry", reason: "No", scope: "destination" };

const shapes = [
  { concurrency: 1, batchSize: 1 },
  { concurrency: 4, batchSize: 10 },
];

/** A lane whose destination fails while `fails` returns true, with a retry window of one hour. */
function setUp(shape: (typeof shapes)[number], earlierOutageMs = 0) {
  const clock = new SimulatedClock(3);
  const state = { fails: true };
  const kind = simulatedKind(clock, shape, () => (state.fails ? failure : { kind: "delivered" }));
  const rig = new LaneDeliveryRig(kind, {}, clock, HOUR, earlierOutageMs);
  return { clock, state, rig };
}

function eventsFrom(from: number, count: number): TestEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    n: from + index,
    user: `user ${index % 7}`,
  }));
}

/** Errors of clocks: of the one that stamped the arrival, of this process, and a later step. */
const clocks: { arrivalMs: number; ownMs: number; stepMs: number }[] = [];
for (const arrivalMs of [-HOUR, HOUR, -YEARS, YEARS])
  for (const ownMs of [-HOUR, HOUR])
    for (const stepMs of [0, 2 * HOUR]) clocks.push({ arrivalMs, ownMs, stepMs });

describe.each(shapes)("deliveries of %j", (shape) => {
  test.each(clocks)(
    "an outage shorter than the retry window gives up nothing, with clocks off by %j",
    async ({ arrivalMs, ownMs, stepMs }) => {
      const { clock, state, rig } = setUp(shape);
      clock.aheadMs = YEARS + ownMs;
      rig.pushReceived(YEARS + arrivalMs, ...eventsFrom(0, 30));
      await clock.runUntil(20 * MINUTE);
      clock.aheadMs += stepMs;
      rig.pushReceived(clock.now() + arrivalMs - ownMs, ...eventsFrom(30, 30));
      await clock.runUntil(50 * MINUTE);
      expect(rig.settled).toEqual([]);
      state.fails = false;
      await clock.runUntil(60 * MINUTE);
      expect(rig.letters()).toEqual([]);
      expect(rig.delivered().length).toBe(60);
      await rig.end();
    },
  );

  test.each(clocks)(
    "an outage longer than the retry window gives up what was tried, with clocks off by %j",
    async ({ arrivalMs, ownMs, stepMs }) => {
      const { clock, rig } = setUp(shape);
      clock.aheadMs = YEARS + ownMs;
      rig.pushReceived(YEARS + arrivalMs, ...eventsFrom(0, 30));
      await clock.runUntil(20 * MINUTE);
      clock.aheadMs += stepMs;
      await clock.runUntil(130 * MINUTE);
      expect(rig.letters().length).toBe(30);
      await rig.end();
    },
  );

  test("a lane that has moved continues with the outage that other processes noted", async () => {
    const { clock, rig } = setUp(shape, 50 * MINUTE);
    clock.aheadMs = YEARS;
    rig.pushReceived(clock.now() - 2 * HOUR, ...eventsFrom(0, 30));
    await clock.runUntil(5 * MINUTE);
    expect(rig.settled).toEqual([]);
    expect(rig.delivery.client.failureRecord.outageMs).toBeGreaterThan(50 * MINUTE);
    await clock.runUntil(15 * MINUTE);
    expect(rig.letters().length).toBe(30);
    await rig.end();
  });

  test("the first answer of a destination ends the outage that other processes noted", async () => {
    const { clock, state, rig } = setUp(shape, 59 * MINUTE);
    clock.aheadMs = YEARS;
    state.fails = false;
    rig.pushReceived(clock.now() - 2 * HOUR, ...eventsFrom(0, 1));
    await clock.runUntil(MINUTE);
    expect(rig.delivered().length).toBe(1);
    expect(rig.delivery.client.failureRecord).toEqual({});
    state.fails = true;
    rig.pushReceived(clock.now() - 2 * HOUR, ...eventsFrom(1, 1));
    await clock.runUntil(40 * MINUTE);
    expect(rig.letters()).toEqual([]);
    await rig.end();
  });
});

describe.each<DeliveryResult>([
  { kind: "retry", reason: "Later", afterMs: 10 * MINUTE },
  { kind: "retry", reason: "Later", scope: "event", afterMs: 10 * MINUTE },
  { kind: "rejected", reason: "Not found" },
])("an earlier config that fails with %j", (result) => {
  test.each([
    { concurrency: 1, batchSize: 1, changeMs: 500 },
    { concurrency: 4, batchSize: 10, changeMs: 500 },
    // In the middle of an attempt that repeats an event alone.
    { concurrency: 1, batchSize: 1, changeMs: 10 * MINUTE + 1_500 },
  ])("delays and loses nothing once the config has changed: %j", async (shape) => {
    const clock = new SimulatedClock(3);
    const kind = simulatedKind(clock, shape, () => ({ kind: "delivered" }));
    kind.open = (config) => ({
      async deliver() {
        await clock.sleep(1_000);
        return "isOld" in config ? result : { kind: "delivered" };
      },
      async close() {},
    });
    const rig = new LaneDeliveryRig(kind, { isOld: true }, clock, HOUR);
    rig.push(...eventsFrom(0, 5));
    await clock.runUntil(shape.changeMs);
    const letters = rig.letters().length;
    rig.change({});
    // One attempt that runs, and five that deliver.
    await clock.runUntil(shape.changeMs + 8_000);
    expect(rig.letters().length).toBe(letters);
    expect(rig.delivered().length).toBe(5 - letters);
    expect(rig.delivery.client).toMatchObject({ failure: undefined, lastFailure: undefined });
    await rig.end();
  });
});

test("after an outage each answer resumes one more queue, which waits for its own retry no longer", async () => {
  const { clock, state, rig } = setUp({ concurrency: 4, batchSize: 1 });
  for (const outage of [1, 2]) {
    const began = clock.now();
    const before = rig.settled.length;
    state.fails = true;
    rig.push(...eventsFrom(100 * outage, 28));
    await clock.runUntil(began + 20 * MINUTE);
    expect(rig.settled.length).toBe(before);
    state.fails = false;
    await clock.runUntil(began + 40 * MINUTE);
    const ages = rig.settled.slice(before).map(({ ageMs }) => ageMs);
    expect(ages).toHaveLength(28);
    // A retry alone comes after up to minutes.
    expect(Math.max(...ages) - Math.min(...ages)).toBeLessThan(1_000);
  }
  await rig.end();
});
