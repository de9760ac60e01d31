import { expect, test } from "bun:test";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { eventOf, LaneDeliveryRig, SimulatedClock, simulatedKind } from "./lane-delivery-rig.ts";

interface Attempt {
  /** Users of its events, in order. */
  users: string;
  name: string | undefined;
  answer(result?: DeliveryResult): void;
}

/** A delivery whose attempts wait for the test to answer them. */
function setup(
  shape: { concurrency: number; batchSize: number },
  more: Partial<DestinationKind> = {},
) {
  const clock = new SimulatedClock();
  const attempts: Attempt[] = [];
  const kind: DestinationKind = {
    ...simulatedKind(clock, shape, () => ({ kind: "delivered" })),
    open: () => ({
      deliver(outgoing, _signal, name) {
        const { promise, resolve } = Promise.withResolvers<DeliveryResult>();
        const users = outgoing.map((it) => eventOf(it).user).join("");
        attempts.push({ users, name, answer: (result = { kind: "delivered" }) => resolve(result) });
        return promise;
      },
      async close() {},
    }),
    ...more,
  };
  const rig = new LaneDeliveryRig(kind, {}, clock);
  let n = 0;
  return {
    ...{ rig, clock },
    push: (users: string) => rig.push(...[...users].map((user) => ({ n: n++, user }))),
    /** Lets time pass, and returns the attempts that began. */
    async pass(ms = 0): Promise<Attempt[]> {
      await clock.runUntil(clock.now() + ms);
      return attempts.splice(0);
    },
  };
}

const usersOf = (attempts: Attempt[]) => attempts.map(({ users }) => users);
const failed: DeliveryResult = { kind: "retry", reason: "HTTP 503" };

test("the request of one queue is filled before that of the next", async () => {
  const { push, pass } = setup({ concurrency: 3, batchSize: 2 });
  push("abcdefg");
  const first = await pass();
  expect(usersOf(first)).toEqual(["ab", "cd", "ef"]);
  first[2]!.answer();
  expect(usersOf(await pass())).toEqual(["g"]);
});

test("a request that is on its way gets no further events while another queue is idle", async () => {
  const { push, pass } = setup({ concurrency: 2, batchSize: 3 });
  push("a");
  expect(usersOf(await pass())).toEqual(["a"]);
  push("b");
  push("c");
  expect(usersOf(await pass())).toEqual(["bc"]);
  // Both are on their way: the next events wait together for the queue with fewer of them.
  push("de");
  expect(usersOf(await pass())).toEqual([]);
});

test("a user's events follow one another, although another queue is idle", async () => {
  const { push, pass } = setup({ concurrency: 2, batchSize: 1 });
  push("a");
  const [first] = await pass();
  push("a");
  expect(usersOf(await pass())).toEqual([]);
  first!.answer();
  expect(usersOf(await pass())).toEqual(["a"]);
});

test("events avoid a queue whose attempts fail", async () => {
  const { push, pass } = setup({ concurrency: 2, batchSize: 1 });
  push("a");
  const [first] = await pass();
  first!.answer(failed);
  await pass();
  push("b");
  push("c");
  expect(usersOf(await pass())).toEqual(["b"]);
});

test("a request waits for more events only while more are expected, at most 100 ms, and until a flush", async () => {
  const { rig, push, pass } = setup({ concurrency: 2, batchSize: 10 });
  rig.delivery.expectMore();
  push("a");
  expect(usersOf(await pass(99))).toEqual([]);
  push("b");
  const [full] = await pass(1);
  expect(full!.users).toBe("ab");
  full!.answer();
  push("c");
  expect(usersOf(await pass(50))).toEqual([]);
  rig.delivery.flush();
  expect(usersOf(await pass())).toEqual(["c"]);
  // After the flush no more are expected.
  push("d");
  expect(usersOf(await pass())).toEqual(["d"]);
});

test.each([1, 2, 3, 4, 5, 6])(
  "after an outage each answer resumes one more queue that waits for its retry: seed %d",
  async (seed) => {
    const clock = new SimulatedClock(7_919 * seed);
    let isUp = false;
    const begun: number[] = [];
    const kind = simulatedKind(clock, { concurrency: 4, batchSize: 1 }, () => {
      if (!isUp) return failed;
      begun.push(clock.now());
      return { kind: "delivered" };
    });
    const rig = new LaneDeliveryRig(kind, {}, clock);
    rig.push(...["a", "b", "c", "d"].map((user, n) => ({ n, user })));
    await clock.runUntil(60_000);
    const noted = rig.notedOutages;
    expect(noted).toBeGreaterThan(4);
    isUp = true;
    await clock.runUntil(600_000);
    expect([rig.delivered().length, rig.notedOutages]).toEqual([4, noted]);
    // One delivery takes 5.02 ms, and each resumes the next one.
    const gaps = begun.slice(1).map((at, n) => at - begun[n]!);
    for (const gap of gaps) expect(gap).toBeWithin(1, 10);
    await rig.end();
  },
);

const gathering = { batchLimits: () => ({ bytes: 1_000, ageMs: 60_000 }) };

test("a kind that gathers sends its events at a flush of the batch alone, under a name", async () => {
  const { rig, push, pass } = setup({ concurrency: 1, batchSize: 100 }, gathering);
  expect(rig.delivery.isBatching).toBe(true);
  push("abc");
  rig.delivery.flush();
  expect(usersOf(await pass(1_000))).toEqual([]);
  rig.delivery.flushBatch();
  const [attempt] = await pass();
  expect(attempt).toMatchObject({ users: "abc", name: expect.stringMatching(/^\d{8}T/) });
  // A close waits for the delivery, and not for its time.
  let isClosed = false;
  const closed = rig.end().then(() => {
    isClosed = true;
  });
  await pass();
  expect(isClosed).toBe(false);
  attempt!.answer();
  await closed;
});

test("a kind that does not gather has one queue for each request, and deliveries without a name", async () => {
  const { rig, push, pass } = setup({ concurrency: 1, batchSize: 1 });
  expect(rig.delivery.isBatching).toBe(false);
  push("ab");
  const [first] = await pass();
  expect(first).toMatchObject({ users: "a", name: undefined });
  let isClosed = false;
  const closed = rig.end().then(() => {
    isClosed = true;
  });
  await pass();
  expect(isClosed).toBe(false);
  first!.answer();
  await closed;
  expect(usersOf(await pass())).toEqual([]);
});

test("a delivery tells of its failure, its last failure, its refusals and its past", async () => {
  const { rig, push, pass } = setup({ concurrency: 1, batchSize: 1 });
  const { delivery } = rig;
  expect(delivery.isWell).toBe(true);
  push("ab");
  const [first] = await pass();
  first!.answer(failed);
  await pass();
  expect([delivery.isWell, delivery.failure?.reason]).toEqual([false, "HTTP 503"]);
  expect(delivery.failureRecord).toMatchObject({ reason: "HTTP 503", outageMs: 1 });
  const [second] = await pass(10_000);
  second!.answer({ kind: "rejected", reason: "HTTP 400" });
  await pass();
  expect([delivery.failure, delivery.refusal?.reason]).toEqual([undefined, "HTTP 400"]);
  expect(delivery.past).toMatchObject({ hasDelivered: false, lastFailure: { reason: "HTTP 400" } });
  expect(delivery.lastFailure).toBe(delivery.past.lastFailure!);
});
