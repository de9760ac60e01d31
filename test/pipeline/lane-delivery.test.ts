import { expect, test } from "bun:test";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { eventOf, LaneDeliveryRig, SimulatedClock, simulatedKind } from "./lane-delivery-rig.ts";

interface Attempt {
  /** Users of its events, in order. */
  users: string;
  name: string | undefined;
  signal: AbortSignal;
  answer(result?: DeliveryResult): void;
}

/** A delivery whose attempts wait for the test to answer them. */
function setup(
  shape: { concurrency: number; batchSize: number },
  more: Partial<DestinationKind> = {},
) {
  const clock = new SimulatedClock();
  const attempts: Attempt[] = [];
  let closed = 0;
  const kind: DestinationKind = {
    ...simulatedKind(clock, shape, () => ({ kind: "delivered" })),
    open: () => ({
      deliver(outgoing, signal, name) {
        const { promise, resolve } = Promise.withResolvers<DeliveryResult>();
        const users = outgoing.map((it) => eventOf(it).user).join("");
        attempts.push({
          ...{ users, name, signal },
          answer: (result = { kind: "delivered" }) => resolve(result),
        });
        return promise;
      },
      async close() {
        closed += 1;
      },
    }),
    ...more,
  };
  const rig = new LaneDeliveryRig(kind, {}, clock);
  let n = 0;
  return {
    ...{ rig, clock },
    closed: () => closed,
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
  expect(rig.delivery.batching).toBeDefined();
  push("abc");
  rig.delivery.flush();
  expect(usersOf(await pass(1_000))).toEqual([]);
  rig.delivery.batching?.flush();
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

test.each([
  ["without a delay of its own", undefined, 11],
  ["that asks for a delay", 30_000, 4],
])(
  "new events and flushes end no wait after a failed batch, by a receiver %s",
  async (_, afterMs, attempts) => {
    const clock = new SimulatedClock();
    let count = 0;
    const kind = simulatedKind(clock, { concurrency: 1, batchSize: 10 }, () => {
      count += 1;
      return { ...failed, ...(afterMs !== undefined && { afterMs }) };
    });
    const rig = new LaneDeliveryRig({ ...kind, ...gathering }, {}, clock);
    for (let n = 0; n < 1_200; n++) {
      rig.push({ n, user: `u${n}` });
      rig.delivery.batching?.flush();
      await clock.runUntil(100 * n);
    }
    expect(count).toBe(attempts);
    await rig.end();
  },
);

test("a kind that does not gather has one queue for each request, and deliveries without a name", async () => {
  const { rig, push, pass } = setup({ concurrency: 1, batchSize: 1 });
  expect(rig.delivery.batching).toBeUndefined();
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
  const { client } = rig.delivery;
  expect(client.isWell).toBe(true);
  push("ab");
  const [first] = await pass();
  first!.answer(failed);
  await pass();
  expect([client.isWell, client.failure?.reason]).toEqual([false, "HTTP 503"]);
  expect(client.failureRecord).toMatchObject({ reason: "HTTP 503", outageMs: 1 });
  const [second] = await pass(10_000);
  second!.answer({ kind: "rejected", reason: "HTTP 400" });
  await pass();
  expect([client.failure, client.refusal?.reason]).toEqual([undefined, "HTTP 400"]);
  expect(client.past).toMatchObject({ hasDelivered: false, lastFailure: { reason: "HTTP 400" } });
  expect(client.lastFailure).toBe(client.past.lastFailure!);
});

test("an event joins the request that is being filled, unless another queue is idle", async () => {
  const { push, pass } = setup({ concurrency: 2, batchSize: 3 });
  push("a");
  const [a] = await pass();
  push("b");
  const [b] = await pass();
  push("cd");
  a!.answer();
  await pass();
  push("e");
  expect(usersOf(await pass())).toEqual(["e"]);
  b!.answer();
  expect(usersOf(await pass())).toEqual(["cd"]);
});

test("a user whose events are all delivered may get another queue", async () => {
  const { push, pass } = setup({ concurrency: 2, batchSize: 1 });
  push("a");
  const [first] = await pass();
  first!.answer();
  await pass();
  push("b");
  push("a");
  expect(usersOf(await pass())).toEqual(["b", "a"]);
});

test("an attempt that fails after a recovery resumes no other queue", async () => {
  const { push, pass } = setup({ concurrency: 4, batchSize: 1 });
  push("abcd");
  for (const attempt of await pass()) attempt.answer(failed);
  let first: Attempt | undefined;
  // Lets them fail for a minute.
  for (let ms = 0; ms < 60_000 || first === undefined; ms += 100) {
    const begun = await pass(100);
    first = ms < 60_000 ? undefined : begun.shift();
    for (const attempt of begun) attempt.answer(failed);
  }
  first.answer();
  const resumed = await pass();
  expect(resumed).toHaveLength(1);
  resumed[0]!.answer(failed);
  expect(await pass()).toEqual([]);
});

test.each([
  ["each of its queues", 2, {}],
  ["its batch", 1, { batchLimits: () => ({ bytes: 1, ageMs: 60_000 }) }],
])("a new config is tried at once by %s", async (_, concurrency, more) => {
  const { rig, push, pass, closed } = setup({ concurrency, batchSize: 1 }, more);
  push("ab".slice(0, concurrency));
  for (let failures = 0; failures < 12; failures++) {
    for (const attempt of await pass(120_000)) attempt.answer(failed);
  }
  await pass();
  expect(await pass(1)).toEqual([]);
  rig.change({ url: "new" });
  expect(await pass()).toHaveLength(concurrency);
  expect([rig.delivery.client.isWell, closed()]).toEqual([true, 1]);
});

test("a stop aborts the attempts, ends all waits, and closes the destination", async () => {
  const { rig, push, pass, closed } = setup({ concurrency: 2, batchSize: 1 });
  push("ab");
  const [a, b] = await pass();
  b!.answer(failed);
  await pass();
  expect(a!.signal.aborted).toBe(false);
  const ended = rig.end();
  expect(a!.signal.aborted).toBe(true);
  a!.answer(failed);
  await ended;
  expect([closed(), await pass(600_000)]).toEqual([1, []]);
});

test("a delivery without a wait has no name", async () => {
  const batchLimits = () => ({ bytes: 1_000, ageMs: 0 });
  const { push, pass } = setup({ concurrency: 1, batchSize: 10 }, { batchLimits });
  push("ab");
  expect(await pass()).toMatchObject([{ users: "ab", name: undefined }]);
});

test.each([
  [0, undefined],
  [1, "Broken invariant: A destination refuses events of the delivery"],
  [-1, "Broken invariant: A destination refuses events of the delivery"],
])(
  "a destination that refuses the event at place %d of one breaks an invariant: %p",
  async (index, told) => {
    const { rig, push, pass } = setup({ concurrency: 1, batchSize: 1 });
    let broken: Error | undefined;
    rig.onFail = (error) => {
      broken = error as Error;
    };
    push("a");
    const [attempt] = await pass();
    attempt!.answer({ kind: "delivered", refused: new Map([[index, "No such column"]]) });
    await pass();
    expect(broken?.message).toBe(told as string);
    expect(rig.letters()).toHaveLength(told === undefined ? 1 : 0);
  },
);
