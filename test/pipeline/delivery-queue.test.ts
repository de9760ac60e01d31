import { expect, test } from "bun:test";
import type { DeliveryResult } from "../../src/destinations/destination.ts";
import {
  DeliveryQueue,
  type DeliveryQueueContext,
} from "../../src/pipeline/delivering/delivery-queue.ts";
import { createOutput, zeroOutputCounts } from "../../src/pipeline/model/lane-event.ts";
import type { Routes } from "../../src/pipeline/model/routes.ts";
import { DELIVERY_BYTES_MAX, RETRY_DELAY_MS_MIN } from "../../src/settings/limits.ts";
import { fail, laneEvent } from "./doubles.ts";

const routes = {} as Routes;

/** A host of a lane in which nothing else continues. */
const quiet = {
  ...{
    batchSize: () => 1,
    batchKey: () => "",
    retryWindowMs: 1e12,
    elapsed: () => 0,
    age: () => 0,
  },
  ...{ random: () => 1, isRunning: () => true, expectsMore: () => false, refresh: () => {} },
  ...{ routes: () => routes, decide: () => ({ kind: "send" }) as const, settle: () => {} },
  ...{ outputCounts: zeroOutputCounts(), failure: () => undefined, fail },
  deliver: async (): Promise<DeliveryResult> => ({ kind: "delivered" }),
  sleep: async () => {},
};

/** Delivers two outputs, one after the other, to these verdicts; returns the waits between. */
async function waits(verdicts: DeliveryResult["kind"][]): Promise<number[]> {
  const asked: number[] = [];
  let now = 0;
  const queue = new DeliveryQueue({
    ...quiet,
    elapsed: () => now,
    deliver: async () => ({ kind: verdicts.shift()!, reason: "As the test says" }),
    async sleep(ms) {
      asked.push(ms);
      now += ms;
    },
  });
  for (let n = 0; n < 2; n++) {
    queue.push(createOutput(laneEvent({ checkedRoutes: routes }), Buffer.from("{}")));
    await queue.ended();
  }
  expect(verdicts).toEqual([]);
  return asked;
}

test.each(["delivered", "rejected"] as const)(
  "retry delays grow with each failure, and restart from the shortest after an answer (%s)",
  async (answer) => {
    const asked = await waits(["retry", "retry", "retry", answer, "retry", "delivered"]);
    expect(asked.map((ms) => ms / RETRY_DELAY_MS_MIN)).toEqual([1, 2, 4, 1]);
  },
);

test("only the refused events of a delivery become dead letters", async () => {
  const ended: string[] = [];
  const queue = new DeliveryQueue({
    ...quiet,
    batchSize: () => 4,
    deliver: async () => ({ kind: "delivered", refused: new Map([[2, "No such column"]]) }),
    settle(outputs, ending) {
      const reason = "reason" in ending ? ending.reason : "";
      for (const { bytes } of outputs) ended.push(`${ending.kind} ${bytes} ${reason}`.trim());
    },
  });
  for (let n = 0; n < 4; n++) {
    queue.push(createOutput(laneEvent({ checkedRoutes: routes }), Buffer.from(String(n))));
  }
  await queue.ended();
  const refused = "dead-letter 2 No such column";
  expect(ended.sort()).toEqual([refused, "delivered 0", "delivered 1", "delivered 3"]);
});

/** A queue whose time passes only when a test says so; its attempts end as `answers` say. */
function scene(over: Partial<DeliveryQueueContext> = {}, answers: DeliveryResult[] = []) {
  let now = 0;
  const delivered: string[] = [];
  const sleeps: number[] = [];
  const sleeping = new Set<{ until: number; wake: () => void }>();
  const queue = new DeliveryQueue({
    ...quiet,
    outputCounts: zeroOutputCounts(),
    elapsed: () => now,
    async deliver(outputs) {
      delivered.push(outputs.map(({ bytes }) => String(bytes).slice(0, 9)).join(" "));
      return answers.shift() ?? { kind: "delivered" };
    },
    async sleep(ms, wake) {
      sleeps.push(ms);
      const due = Promise.withResolvers<void>();
      const sleeper = { until: now + ms, wake: due.resolve };
      sleeping.add(sleeper);
      await wake.unlessNotified(due.promise);
      sleeping.delete(sleeper);
    },
    ...over,
  });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    ...{ queue, delivered, sleeps },
    /** Adds an event of the user that the first letter of its text names. */
    async push(text: string) {
      const event = laneEvent({ checkedRoutes: routes });
      event.input = { ...event.input, event: { ...event.input.event, user: text[0]! } };
      queue.push(createOutput(event, Buffer.from(text)));
      await turn();
    },
    async pass(ms: number) {
      now += ms;
      for (const { until, wake } of sleeping) if (until <= now) wake();
      await turn();
    },
  };
}

const expecting = { batchSize: () => 3, expectsMore: () => true };

test("a request waits for more events until it is full or its time is over", async () => {
  const { push, pass, delivered, sleeps } = scene(expecting);
  await push("a");
  await push("b");
  expect([delivered, sleeps]).toEqual([[], [100]]);
  await push("c");
  expect(delivered).toEqual(["a b c"]);
  await push("d");
  await pass(100);
  expect(delivered).toEqual(["a b c", "d"]);
});

test("a request of as many bytes as it may have waits for no more events", async () => {
  const { push, delivered, sleeps } = scene(expecting);
  await push("x".repeat(DELIVERY_BYTES_MAX - 1));
  await push("y");
  expect(delivered).toEqual(["xxxxxxxxx y"]);
  await push("z".repeat(DELIVERY_BYTES_MAX));
  expect([delivered.length, sleeps]).toEqual([2, [100]]);
});

test("a new event is sent at once while an event that failed alone waits for its retry", async () => {
  const own: DeliveryResult = { kind: "retry", scope: "event", reason: "It is wrong" };
  const { queue, push, pass, delivered, sleeps } = scene({ batchSize: () => 3 }, [own]);
  await push("a1");
  expect(sleeps).toEqual([RETRY_DELAY_MS_MIN]);
  await push("b1");
  expect(delivered).toEqual(["a1", "b1"]);
  expect(queue.load).toBe(0);
  await pass(RETRY_DELAY_MS_MIN);
  expect(delivered).toEqual(["a1", "b1", "a1"]);
  expect(queue.load).toBe(0);
});

test("a new event ends no pause after a failure of the destination", async () => {
  const busy: DeliveryResult = { kind: "retry", reason: "Busy", afterMs: 5_000 };
  const { push, pass, delivered } = scene({ batchSize: () => 2 }, [busy]);
  await push("a");
  await push("b");
  await push("c");
  expect(delivered).toEqual(["a"]);
  await pass(5_000);
  expect(delivered.slice(1).join(" ").split(" ").sort()).toEqual(["a", "b", "c"]);
});
