import { expect, test } from "bun:test";
import {
  BatchingQueue,
  type BatchingQueueContext,
} from "../../src/pipeline/delivering/batching-queue.ts";
import type { AttemptResult } from "../../src/pipeline/model/attempt.ts";
import {
  createOutput,
  type LaneEvent,
  zeroOutputCounts,
} from "../../src/pipeline/model/lane-event.ts";
import type { Routes } from "../../src/pipeline/model/routes.ts";
import { RETRY_DELAY_MS_MIN } from "../../src/settings/limits.ts";
import { laneEvent } from "./doubles.ts";

const routes = {} as Routes;

/** Lets all that is ready continue. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Over extends Partial<Omit<BatchingQueueContext, "committer">> {
  committer?: Partial<BatchingQueueContext["committer"]>;
}

/** A queue of a lane whose time passes only when a test says so. */
function startQueue({ committer, ...over }: Over = {}, recovered?: string) {
  let now = 0;
  let isRunning = true;
  let sequence = 0;
  const sleeping = new Set<{ until: number; wake: () => void }>();
  const limits = { bytes: 1_000, ageMs: 100 };
  const settings = { batchSize: 10 };
  const delivered: string[] = [];
  const names: string[] = [];
  const written: string[] = [];
  const ended: string[] = [];
  const sleeps: number[] = [];
  const failures: unknown[] = [];
  const counts = { cleared: 0, refreshed: 0 };
  const queue: BatchingQueue = new BatchingQueue(
    {
      batchSize: () => settings.batchSize,
      batchLimits: () => limits,
      retryWindowMs: 1e12,
      clock: {
        elapsed: () => now,
        now: () => Date.parse("2026-01-02T03:04:05Z") + now,
        age: () => 0,
        random: () => 1,
        async sleep(ms, wake) {
          sleeps.push(ms);
          const due = Promise.withResolvers<void>();
          const sleeper = { until: now + ms, wake: due.resolve };
          sleeping.add(sleeper);
          await wake.unlessNotified(due.promise);
          sleeping.delete(sleeper);
        },
      },
      isRunning: () => isRunning,
      refresh: () => {
        counts.refreshed += 1;
      },
      routes: () => routes,
      decide: () => ({ kind: "send" }),
      settle(outputs, ending) {
        for (const { bytes } of outputs) ended.push(`${bytes} ${ending.kind}`);
      },
      outputCounts: zeroOutputCounts(),
      failure: () => undefined,
      fail: (error) => void failures.push(error),
      committer: {
        async writeIntent({ name }) {
          written.push(name);
        },
        hasWrittenIntent: (name) => name === recovered || written.includes(name),
        clearIntent() {
          counts.cleared += 1;
        },
        ...committer,
      },
      async deliver(outputs, name) {
        delivered.push(outputs.map(({ bytes }) => String(bytes)).join(" "));
        names.push(name);
        return { kind: "delivered" };
      },
      ...over,
    },
    recovered,
  );
  return {
    ...{ queue, limits, settings, delivered, names, written, ended, sleeps, failures, counts },
    /** Pushes events, each of another received event unless `of` is given. */
    async push(texts: string, of?: LaneEvent) {
      for (const text of texts.split(" ")) {
        const origin = { log: "0", sequence: sequence++, connectionId: "c" };
        const event = of ?? laneEvent({ checkedRoutes: routes, origin });
        queue.push(createOutput(event, Buffer.from(text)));
      }
      await turn();
    },
    async pass(ms: number) {
      now += ms;
      for (const { until, wake } of sleeping) if (until <= now) wake();
      await turn();
    },
    async stop() {
      isRunning = false;
      queue.interruptWait();
      await queue.ended();
    },
  };
}

test("events wait for their time, which begins with the first of them", async () => {
  const { push, pass, delivered, names, written, ended, counts } = startQueue();
  await push("a");
  await pass(60);
  await push("b");
  await pass(39);
  expect(delivered).toEqual([]);
  await pass(1);
  expect(delivered).toEqual(["a b"]);
  // The intent is written before the delivery, under its name, and removed with the outcomes.
  expect(names).toEqual(written);
  expect(names[0]).toMatch(/^20260102T030405\d{3}Z-0-0-[0-9a-f]{12}$/);
  expect([ended, counts]).toEqual([["a delivered", "b delivered"], { cleared: 1, refreshed: 1 }]);
  // The next event waits anew.
  await push("c");
  await pass(99);
  expect(delivered).toHaveLength(1);
  await pass(1);
  expect(delivered).toEqual(["a b", "c"]);
});

test("a delivery is sent at once when it has its number of events or of bytes", async () => {
  const full = startQueue();
  full.settings.batchSize = 3;
  await full.push("a b");
  expect(full.delivered).toEqual([]);
  await full.push("c d e f g");
  expect(full.delivered).toEqual(["a b c", "d e f"]);
  await full.pass(100);
  expect(full.delivered.at(-1)).toBe("g");

  const large = startQueue();
  large.limits.bytes = 6;
  await large.push("aaa bb");
  expect(large.delivered).toEqual([]);
  await large.push("c ddddddddd e");
  // The bound holds for more than one event; one that is larger is sent alone.
  expect(large.delivered).toEqual(["aaa bb c", "ddddddddd"]);
  await large.pass(100);
  expect(large.delivered.at(-1)).toBe("e");
});

test("all outputs of one received event are in one delivery, whatever its size", async () => {
  const { push, delivered, settings, pass } = startQueue();
  settings.batchSize = 2;
  const event = laneEvent({ checkedRoutes: routes });
  await push("a");
  await push("b1 b2 b3", event);
  await push("c");
  expect(delivered).toEqual(["a b1 b2 b3"]);
  await pass(100);
  expect(delivered).toEqual(["a b1 b2 b3", "c"]);
});

test("the time of the next delivery begins when the last one is taken", async () => {
  const { push, pass, delivered, settings } = startQueue();
  settings.batchSize = 2;
  await push("a");
  await pass(50);
  await push("b c");
  expect(delivered).toEqual(["a b"]);
  await pass(99);
  expect(delivered).toHaveLength(1);
  await pass(1);
  expect(delivered).toEqual(["a b", "c"]);
});

test("a flush sends all that is queued, and later events wait", async () => {
  const { queue, push, pass, delivered, settings } = startQueue();
  await push("a b c");
  settings.batchSize = 2;
  queue.flush();
  await turn();
  expect(delivered).toEqual(["a b", "c"]);
  await push("d");
  await pass(99);
  expect(delivered).toEqual(["a b", "c"]);
  await pass(1);
  expect(delivered).toEqual(["a b", "c", "d"]);
  // A flush of an empty queue has no effect on the next event.
  queue.flush();
  await push("e");
  expect(delivered).toHaveLength(3);
});

test("a shorter time in new settings ends a wait", async () => {
  const { queue, push, pass, delivered, limits } = startQueue();
  await push("a");
  await pass(30);
  limits.ageMs = 20;
  queue.interruptWait();
  await turn();
  expect(delivered).toEqual(["a"]);
});

test("a delivery without a wait has no name, and stores no intent", async () => {
  const { push, names, written, limits, delivered } = startQueue();
  limits.ageMs = 0;
  await push("a");
  await push("b");
  expect([delivered, names, written]).toEqual([["a", "b"], ["", ""], []]);
});

test("an interrupted delivery is repeated with its name and its events alone, whatever their size", async () => {
  const { queue, push, pass, delivered, names, written, limits, settings, sleeps, counts } =
    startQueue({}, "interrupted");
  settings.batchSize = 2;
  limits.bytes = 3;
  await push("aaa bbb ccc");
  await pass(5_000);
  // It is complete only when all its events are in the queue again.
  expect([delivered, ...new Set(sleeps)]).toEqual([[], 1_000]);
  queue.flush();
  await push("d");
  expect([delivered, names, written]).toEqual([["aaa bbb ccc"], ["interrupted"], []]);
  expect(counts.cleared).toBe(1);
  await push("e");
  expect(delivered).toEqual(["aaa bbb ccc", "d e"]);
  expect(written).toEqual(names.slice(1));
});

test("an interrupted delivery of which no event is left is forgotten", async () => {
  const { queue, push, pass, names, written, counts } = startQueue({}, "interrupted");
  queue.endRecovery();
  queue.endRecovery();
  expect(counts.cleared).toBe(1);
  await push("a");
  await pass(100);
  expect(names).toEqual(written);
});

test("an interrupted delivery keeps its name when memory is needed before its events are queued", async () => {
  const { queue, push, names, written, counts } = startQueue({}, "interrupted");
  queue.flush();
  expect(counts.cleared).toBe(0);
  await push("a");
  queue.flush();
  queue.endRecovery();
  await push("b");
  expect([names, written]).toEqual([["interrupted"], []]);
});

/** Answers attempts one after the other; the last answer repeats. */
function answering(...answers: AttemptResult[]) {
  const attempts: string[] = [];
  const deliver: BatchingQueueContext["deliver"] = async (outputs) => {
    attempts.push(outputs.map(({ bytes }) => String(bytes)).join(" "));
    return answers.length > 1 ? answers.shift()! : answers[0]!;
  };
  return { attempts, deliver };
}

const retry = (more: object = {}): AttemptResult => ({ kind: "retry", reason: "busy", ...more });

test("a failed delivery is repeated after growing delays, which a success resets", async () => {
  const { attempts, deliver } = answering(
    ...[retry(), retry(), retry({ afterMs: 9_999 }), retry({ isOutdated: true })],
    ...([{ kind: "delivered" }, retry(), { kind: "delivered" }] as AttemptResult[]),
  );
  const { push, pass, sleeps, ended, names, written, counts } = startQueue({ deliver });
  await push("a");
  await pass(100);
  for (const ms of [1, 2].map((factor) => factor * RETRY_DELAY_MS_MIN)) {
    const before = attempts.length;
    await pass(ms - 1);
    expect(attempts).toHaveLength(before);
    await pass(1);
    expect(attempts).toHaveLength(before + 1);
  }
  // An answer of outdated settings is followed by an attempt with the new ones, without a wait.
  await pass(9_999);
  expect(attempts).toEqual(Array(5).fill("a"));
  expect([ended, written.length, counts]).toEqual([
    ["a delivered"],
    1,
    { cleared: 1, refreshed: 5 },
  ]);
  sleeps.length = 0;
  await push("b");
  await pass(100);
  await pass(RETRY_DELAY_MS_MIN);
  expect(sleeps).toEqual([100, RETRY_DELAY_MS_MIN]);
  expect(ended).toEqual(["a delivered", "b delivered"]);
  expect(names).toEqual([]);
});

test("events that a failed attempt delivered are not sent again, and end with the delivery", async () => {
  const { attempts, deliver } = answering(retry({ delivered: new Set([1]) }), {
    kind: "delivered",
  });
  const { push, pass, ended } = startQueue({ deliver });
  await push("a b c");
  await pass(100);
  expect([attempts, ended]).toEqual([["a b c"], []]);
  await pass(RETRY_DELAY_MS_MIN);
  expect(attempts).toEqual(["a b c", "a c"]);
  expect(ended).toEqual(["a delivered", "c delivered", "b delivered"]);
});

test("a delivery ends without another attempt when a failed one delivered all", async () => {
  const { attempts, deliver } = answering(retry({ delivered: new Set([0, 1]) }));
  const { push, pass, ended, sleeps, counts } = startQueue({ deliver });
  await push("a b");
  await pass(100);
  expect([attempts, ended]).toEqual([["a b"], ["a delivered", "b delivered"]]);
  expect([sleeps, counts.cleared]).toEqual([[100], 1]);
});

test("refused events become dead letters, and a refused delivery all of its events", async () => {
  const { deliver } = answering(
    { kind: "delivered", refused: new Map([[1, "No such column"]]) },
    { kind: "rejected", reason: "Bad request" },
  );
  const { push, pass, ended, counts } = startQueue({ deliver });
  await push("a b c");
  await pass(100);
  expect(ended.sort()).toEqual(["a delivered", "b dead-letter", "c delivered"]);
  ended.length = 0;
  await push("d e");
  await pass(100);
  expect([ended, counts.cleared]).toEqual([["d dead-letter", "e dead-letter"], 2]);
});

test("events beyond their retry window become dead letters, and the delivery ends", async () => {
  const { attempts, deliver } = answering(retry());
  const { push, pass, ended, counts } = startQueue({ deliver, retryWindowMs: 0 });
  await push("a");
  await pass(100);
  expect([attempts.length, ended]).toEqual([1, []]);
  await pass(RETRY_DELAY_MS_MIN);
  expect([attempts.length, ended, counts.cleared]).toEqual([2, ["a dead-letter"], 1]);
});

test("a stop leaves queued events and those of a failed delivery for the next start", async () => {
  const waiting = startQueue();
  await waiting.push("a");
  await waiting.stop();
  expect([waiting.delivered, waiting.ended]).toEqual([[], []]);

  const { attempts, deliver } = answering(retry({ delivered: new Set([0]) }));
  const failing = startQueue({ deliver });
  await failing.push("a b");
  await failing.pass(100);
  await failing.stop();
  // Their intent stays, so that the next start repeats the delivery with both.
  expect([attempts, failing.ended, failing.counts.cleared]).toEqual([["a b"], [], 0]);
});

test("a stop gives up no event of the attempt that it ends, and waits for no pause", async () => {
  const attempt = Promise.withResolvers<AttemptResult>();
  const { push, pass, stop, ended, sleeps, counts } = startQueue({
    deliver: () => attempt.promise,
    retryWindowMs: 0,
  });
  await push("a b");
  await pass(100);
  // The retry window ends during the attempt.
  await pass(1);
  const before = sleeps.length;
  const stopped = stop();
  attempt.resolve(retry({ afterMs: 3_600_000 }));
  await stopped;
  expect([ended, counts.cleared, sleeps.length]).toEqual([[], 0, before]);
});

test("a stop does not wait for an intent that cannot be written", async () => {
  const stuck = startQueue({ committer: { writeIntent: () => new Promise(() => {}) } });
  await stuck.push("a");
  await stuck.pass(100);
  // A change of settings meanwhile sends nothing without the intent.
  stuck.queue.interruptWait();
  await turn();
  await stuck.stop();
  expect([stuck.delivered, stuck.ended, stuck.failures]).toEqual([[], [], []]);
});

test("a delivery whose intent is not stored stops the lane", async () => {
  const { push, pass, delivered, failures } = startQueue({
    committer: { hasWrittenIntent: () => false },
  });
  await push("a");
  await pass(100);
  expect([delivered, failures.length]).toEqual([[], 1]);
});
