import { describe, expect, test } from "bun:test";
import type { DeliveryResult } from "../../src/destinations/destination.ts";
import { POISON_ATTEMPTS_MIN } from "../../src/settings/limits.ts";
import { isQuickTier, sample } from "../tier.ts";
import {
  disordered,
  LaneDeliveryRig,
  SimulatedClock,
  simulatedKind,
  type TestEvent,
} from "./lane-delivery-rig.ts";
import { numbersTo } from "./rig.ts";

/**
 * One event stops nothing, and a failure of the destination gives up no event. All time is
 * simulated.
 */

const ofEvent: DeliveryResult = { kind: "retry", reason: "Answered 500", scope: "event" };
const ofDestination: DeliveryResult = { kind: "retry", reason: "Answered 503" };
const delivered: DeliveryResult = { kind: "delivered" };
const seconds = (count: number) => count * 1_000;
/** Events of a stream come in groups, this often. */
const GROUP_MS = 100;
const USERS = 50;

interface Stream {
  perSecond: number;
  forMs: number;
  users?: number;
  /** Numbers of the events that are poison, each with a user of its own. */
  poison?: (n: number) => boolean;
}

/** Pushes a stream of events, and lets time pass until it ends. */
async function stream(
  rig: LaneDeliveryRig,
  clock: SimulatedClock,
  { perSecond, forMs, users = USERS, poison = () => false }: Stream,
): Promise<TestEvent[]> {
  const events: TestEvent[] = [];
  for (let at = clock.now(); at < forMs; at += GROUP_MS) {
    await clock.runUntil(at);
    const group = numbersTo((perSecond * GROUP_MS) / 1_000).map((index) => {
      const n = events.length + index;
      return poison(n)
        ? { n, user: `poison ${n}`, isPoison: true }
        : { n, user: `user ${(n * 7) % users}` };
    });
    events.push(...group);
    rig.push(...group);
  }
  return events;
}

const shapes = [
  { concurrency: 1, batchSize: 1 },
  { concurrency: 8, batchSize: 1 },
  { concurrency: 1, batchSize: 50 },
  { concurrency: 8, batchSize: 50 },
  { concurrency: 1, batchSize: 1_000 },
];
const failures: { name: string; result: DeliveryResult }[] = [
  { name: "of the event", result: ofEvent },
  { name: "of the destination", result: ofDestination },
  { name: "of the destination with Retry-After", result: { ...ofDestination, afterMs: 5_000 } },
];
const places = ["first", "middle", "last"] as const;
/**
 * In the quick tier, one place for every other pair of a shape and a failure; all of them else.
 */
const placesFor = (shape: (typeof shapes)[number], failure: (typeof failures)[number]) => {
  const index = shapes.indexOf(shape) + failures.indexOf(failure);
  if (!isQuickTier) return places;
  return index % 2 === 0 ? [places[index % places.length]!] : [];
};

describe.each(shapes)("an event that always fails, batches of %j", (shape) => {
  describe.each(failures)("by a failure $name", (failure) => {
    const { result } = failure;
    test.each(placesFor(shape, failure))(
      "goes aside, and delays no other: %s of its batch",
      async (place) => {
        const clock = new SimulatedClock();
        const kind = simulatedKind(clock, shape, (events) => {
          return events.some(({ isPoison }) => isPoison) ? result : delivered;
        });
        const rig = new LaneDeliveryRig(kind, {}, clock);
        const index = { first: 0, middle: 10, last: 19 }[place];
        const forMs = seconds(150);
        const isPoison = (n: number) => n === 20 + index;
        const isSlow = isQuickTier || shape.batchSize * shape.concurrency === 1;
        const perSecond = isSlow ? 100 : 200;
        const events = await stream(rig, clock, { perSecond, forMs, poison: isPoison });
        await clock.runUntil(forMs + seconds(1));
        const good = rig.delivered();
        expect(good.length).toBe(events.length - 1);
        expect(disordered(good)).toEqual([]);
        // A receiver that asks for delays gets them until the event is found.
        const from = perSecond * ("afterMs" in result ? 75 : 10);
        const late = good.filter(({ n, ageMs }) => n > from && ageMs > 2_000);
        expect(late.length).toBeLessThan(good.length / 100);
        const letters = rig.letters().map(({ n }) => n);
        expect(letters).toEqual(result === ofEvent ? [20 + index] : []);
        await rig.end();
      },
    );
  });
});

test.each(shapes)("two in a hundred poison events cut no stream, batches of %j", async (shape) => {
  const clock = new SimulatedClock();
  let attempts = 0;
  const kind = simulatedKind(clock, shape, (events) => {
    attempts += 1;
    return events.some(({ isPoison }) => isPoison) ? ofEvent : delivered;
  });
  const rig = new LaneDeliveryRig(kind, {}, clock);
  const forMs = seconds(60);
  const isPoison = (n: number) => n % 50 === 13;
  // A queue of single deliveries takes 199 a second at most.
  const perSecond = shape.batchSize * shape.concurrency === 1 ? 100 : 200;
  const events = await stream(rig, clock, { perSecond, forMs, poison: isPoison });
  const fed = attempts;
  await clock.runUntil(forMs + seconds(2));
  expect(rig.delivered().length).toBe(0.98 * events.length);
  expect(disordered(rig.delivered())).toEqual([]);
  const poison = events.filter((event) => event.isPoison).length;
  // Each is found by halving a batch, and tried again until it is given up.
  if (shape.batchSize > 1) expect(fed / poison).toBeLessThan(3 * POISON_ATTEMPTS_MIN);
  await stream(rig, clock, { perSecond: 10, forMs: forMs + seconds(200) });
  await clock.runUntil(forMs + seconds(202));
  expect(rig.letters().length).toBe(poison);
  expect(rig.letters().every((letter) => letter.isPoison)).toBe(true);
  await rig.end();
});

test("events behind one that always fails wait for it, and follow once it is given up", async () => {
  const clock = new SimulatedClock();
  const kind = simulatedKind(clock, { concurrency: 1, batchSize: 10 }, (events) => {
    return events.some(({ isPoison }) => isPoison) ? ofEvent : delivered;
  });
  const rig = new LaneDeliveryRig(kind, {}, clock);
  rig.push({ n: 0, user: "ann", isPoison: true }, { n: 1, user: "ann" }, { n: 2, user: "bob" });
  await clock.runUntil(seconds(2));
  expect(rig.settled.map(({ n }) => n)).toEqual([2]);
  rig.push({ n: 3, user: "ann" });
  for (let n = 4; n < 50; n++) {
    rig.push({ n, user: "bob" });
    await clock.runUntil(clock.now() + seconds(5));
  }
  const ofAnn = rig.settled.filter(({ user }) => user === "ann");
  expect(ofAnn.map(({ n, outcome }) => `${n} ${outcome.kind}`)).toEqual([
    ...["0 dead-letter", "1 delivered", "3 delivered"],
  ]);
  await rig.end();
});

test("an event that always fails does not stop its only user for the retry window", async () => {
  const clock = new SimulatedClock();
  const kind = simulatedKind(clock, { concurrency: 1, batchSize: 10 }, (events) => {
    return events.some(({ isPoison }) => isPoison) ? ofEvent : delivered;
  });
  const rig = new LaneDeliveryRig(kind, {}, clock);
  rig.push(...numbersTo(50).map((n) => ({ n, user: "ann", isPoison: n === 3 })));
  await clock.runUntil(seconds(1_500));
  expect(rig.delivered().map(({ n }) => n)).toEqual(numbersTo(50).filter((n) => n !== 3));
  expect(rig.letters().map(({ n }) => n)).toEqual([3]);
  await rig.end();
});

test("a user with many events behind one that always fails does not fill the lane", async () => {
  const clock = new SimulatedClock();
  const kind = simulatedKind(clock, { concurrency: 1, batchSize: 100 }, (events) => {
    return events.some(({ isPoison }) => isPoison) ? ofDestination : delivered;
  });
  const rig = new LaneDeliveryRig(kind, {}, clock);
  rig.push(...numbersTo(2_000).map((n) => ({ n, user: "ann", isPoison: n === 0 })));
  const forMs = seconds(60);
  await stream(rig, clock, { perSecond: 50, forMs });
  await clock.runUntil(forMs + seconds(1));
  expect(rig.letters().map(({ user }) => user)).toEqual(["ann"]);
  expect(rig.delivered().length).toBe(1_999 + 50 * 60);
  await rig.end();
});

/** Results of a destination that is well and ill in turns, or answers by chance. */
const flapping: { name: string; result: (clock: SimulatedClock) => DeliveryResult }[] = [
  {
    name: "a port that is open for 0.6 s and closed for 1.4 s",
    result: (clock) => (clock.now() % 2_000 < 600 ? delivered : ofDestination),
  },
  {
    name: "a port that is open for 5 s and closed for 25 s",
    result: (clock) => (clock.now() % 30_000 < 5_000 ? delivered : ofDestination),
  },
  {
    name: "429 or 503 to 45 of 100",
    result: (clock) => (clock.random() < 0.45 ? ofDestination : delivered),
  },
  {
    name: "503 with Retry-After to 45 of 100",
    result: (clock) => {
      return clock.random() < 0.45 ? { ...ofDestination, afterMs: 1_000 } : delivered;
    },
  },
];

const named = flapping.map(({ name, result }, index) => [name, result, index] as const);
describe.each(named)("a destination that flaps: %s", (_, result, index) => {
  test.each(sample(shapes, index))("makes no dead letters, batches of %j", async (shape) => {
    const clock = new SimulatedClock(7);
    const kind = simulatedKind(clock, shape, () => result(clock));
    const rig = new LaneDeliveryRig(kind, {}, clock);
    const perSecond = shape.batchSize === 1 ? 10 : 100;
    const forMs = seconds(120);
    const events = await stream(rig, clock, { perSecond, forMs });
    await clock.runUntil(forMs + seconds(1_000));
    expect(rig.letters()).toEqual([]);
    expect(rig.delivered().length).toBe(events.length);
    expect(disordered(rig.delivered())).toEqual([]);
    await rig.end();
  });
});

test.each(shapes)(
  "a destination that answers 500 to all for a while, and later to some, makes no dead letters, batches of %j",
  async (shape) => {
    for (const users of sample([1, 2, USERS], shape.batchSize)) {
      const clock = new SimulatedClock(users);
      const isOut = () => clock.now() % seconds(150) > seconds(50);
      const kind = simulatedKind(clock, shape, () => {
        return isOut() || clock.random() < 0.05 ? ofEvent : delivered;
      });
      const rig = new LaneDeliveryRig(kind, {}, clock);
      const forMs = seconds(300);
      const events = await stream(rig, clock, { perSecond: 10, forMs, users });
      await clock.runUntil(forMs + seconds(1_500));
      expect({ users, letters: rig.letters() }).toEqual({ users, letters: [] });
      expect(rig.delivered().length).toBe(events.length);
      await rig.end();
    }
  },
);

test.each(shapes)(
  "a destination that fails for all of the retry window gives up nothing before it ends, batches of %j",
  async (shape) => {
    for (const result of [ofEvent, ofDestination]) {
      const clock = new SimulatedClock();
      const kind = simulatedKind(clock, shape, () => result);
      const retryWindowMs = seconds(600);
      const rig = new LaneDeliveryRig(kind, {}, clock, retryWindowMs);
      const events = await stream(rig, clock, { perSecond: 10, forMs: seconds(60) });
      await clock.runUntil(3 * retryWindowMs);
      const ages = rig.letters().map(({ ageMs }) => ageMs);
      expect(ages.length).toBe(events.length);
      expect(Math.min(...ages)).toBeGreaterThan(retryWindowMs);
      await rig.end();
    }
  },
);
