import { expect, test } from "bun:test";
import type { DeliveryResult } from "../../src/destinations/destination.ts";
import {
  DeliveryQueue,
  type DeliveryQueueContext,
} from "../../src/pipeline/delivering/delivery-queue.ts";
import type { AttemptResult } from "../../src/pipeline/model/attempt.ts";
import {
  createOutput,
  type Output,
  zeroOutputCounts,
} from "../../src/pipeline/model/lane-event.ts";
import type { Routes } from "../../src/pipeline/model/routes.ts";
import {
  DELIVERY_BYTES_MAX,
  FOLLOWER_ATTEMPTS_MIN,
  LANE_IN_FLIGHT_EVENTS_MAX,
  RETRY_DELAY_MS_MAX,
  RETRY_DELAY_MS_MIN,
} from "../../src/settings/limits.ts";
import { fail, laneEvent } from "./doubles.ts";

const routes = {} as Routes;

/** A host of a lane in which nothing else continues. */
const quiet = {
  ...{
    batchSize: () => 1,
    batchKey: () => "",
    retryWindowMs: 1e12,
  },
  clock: { elapsed: () => 0, age: () => 0, random: () => 1, sleep: async () => {} },
  ...{ isRunning: () => true, expectsMore: () => false, refresh: () => {} },
  ...{ routes: () => routes, decide: () => ({ kind: "send" }) as const, settle: () => {} },
  ...{ outputCounts: zeroOutputCounts(), failure: () => undefined, fail },
  deliver: async (): Promise<DeliveryResult> => ({ kind: "delivered" }),
};

/** Delivers two outputs, one after the other, to these verdicts; returns the waits between. */
async function waits(verdicts: DeliveryResult["kind"][]): Promise<number[]> {
  const asked: number[] = [];
  let now = 0;
  const queue = new DeliveryQueue({
    ...quiet,
    clock: {
      ...quiet.clock,
      elapsed: () => now,
      async sleep(ms) {
        asked.push(ms);
        now += ms;
      },
    },
    deliver: async () => ({ kind: verdicts.shift()!, reason: "As the test says" }),
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
function scene(over: Partial<DeliveryQueueContext> = {}, answers: AttemptResult[] = []) {
  let now = 0;
  const settled: string[] = [];
  const delivered: string[] = [];
  const sleeps: number[] = [];
  const sleeping = new Set<{ until: number; wake: () => void }>();
  const queue = new DeliveryQueue({
    ...quiet,
    outputCounts: zeroOutputCounts(),
    clock: {
      ...quiet.clock,
      elapsed: () => now,
      async sleep(ms, wake) {
        sleeps.push(ms);
        const due = Promise.withResolvers<void>();
        const sleeper = { until: now + ms, wake: due.resolve };
        sleeping.add(sleeper);
        await wake.unlessNotified(due.promise);
        sleeping.delete(sleeper);
      },
    },
    async deliver(outputs) {
      delivered.push(outputs.map(({ bytes }) => String(bytes).slice(0, 9)).join(" "));
      return answers.shift() ?? { kind: "delivered" };
    },
    settle(outputs, ending) {
      for (const { bytes } of outputs) settled.push(`${ending.kind} ${bytes}`);
    },
    ...over,
  });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    ...{ queue, delivered, settled, sleeps },
    /** Adds an event of the user that the first letter of its text names; or several together. */
    async push(...texts: string[]) {
      for (const text of texts) {
        const event = laneEvent({ checkedRoutes: routes });
        event.input = { ...event.input, event: { ...event.input.event, user: text[0]! } };
        queue.push(createOutput(event, Buffer.from(text)));
      }
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

test("a request holds events of one batch key only, in the order of the events", async () => {
  const batchKey = ({ bytes }: Output) => String(bytes)[1]!;
  const { push, pass, delivered } = scene({ ...expecting, batchSize: () => 9, batchKey });
  await push("a1", "b1", "c2", "d1", "e1");
  expect(delivered).toEqual([]);
  for (let n = 0; n < 3; n++) await pass(100);
  expect(delivered).toEqual(["a1 b1", "c2", "d1 e1"]);
});

test("a request holds no more events and bytes than it may, but at least one event", async () => {
  const { push, delivered } = scene({ batchSize: () => 2 });
  await push("a", "b", "c");
  await push(`d${"x".repeat(DELIVERY_BYTES_MAX - 2)}`, "ee");
  await push("f", `g${"x".repeat(DELIVERY_BYTES_MAX)}`);
  await push("h", `i${"x".repeat(DELIVERY_BYTES_MAX - 2)}`);
  expect(delivered).toEqual([...["a b", "c", "dxxxxxxxx", "ee", "f", "gxxxxxxxx", "h ixxxxxxxx"]]);
});

test("a flush sends what waits for more events, and ends no pause after a failure", async () => {
  const { queue, push, pass, delivered } = scene(expecting, [{ kind: "retry", reason: "Busy" }]);
  await push("a");
  expect(delivered).toEqual([]);
  queue.flush();
  await pass(0);
  expect(delivered).toEqual(["a"]);
  await push("b");
  queue.flush();
  await pass(0);
  expect(delivered).toEqual(["a"]);
  queue.interruptWait();
  await pass(0);
  expect(delivered).toEqual(["a", "a"]);
  queue.flush();
  await pass(0);
  expect(delivered).toEqual(["a", "a", "b"]);
});

test("a queue resumes once the destination works again, unless it asked for the delay", async () => {
  const failed: AttemptResult = { kind: "retry", reason: "Busy" };
  const later = scene({}, [{ ...failed, afterMs: 5_000 }]);
  expect(later.queue.resume()).toBe(false);
  await later.push("a");
  expect(later.queue.resume()).toBe(false);
  await later.pass(4_999);
  expect(later.delivered).toEqual(["a"]);
  await later.pass(1);
  expect(later.delivered).toEqual(["a", "a"]);
  const { queue, push, pass, delivered } = scene({}, [failed]);
  await push("a");
  expect(queue.resume()).toBe(true);
  await pass(0);
  expect(delivered).toEqual(["a", "a"]);
  expect(queue.resume()).toBe(false);
  // An event that is at fault itself waits, whatever becomes of others.
  const own = scene({}, [{ ...failed, scope: "event" }]);
  await own.push("a");
  expect(own.queue.resume()).toBe(false);
});

test("a queue's load counts events that wait or are tried, and a failing queue has the highest", async () => {
  const held = Promise.withResolvers<AttemptResult>();
  const { queue, push, pass } = scene({ batchSize: () => 2, deliver: () => held.promise });
  const shown = () => [queue.load, queue.isTrying, queue.hasRoom];
  expect(shown()).toEqual([0, false, false]);
  await push("a");
  expect(shown()).toEqual([1, true, false]);
  await push("b");
  expect(shown()).toEqual([2, true, true]);
  await push("c");
  expect(shown()).toEqual([3, true, false]);
  held.resolve({ kind: "retry", reason: "Down" });
  await pass(0);
  expect(shown()).toEqual([3 + LANE_IN_FLIGHT_EVENTS_MAX, true, false]);
});

test("an attempt at an earlier address of the destination counts as no failure", async () => {
  const outdated: AttemptResult = { kind: "retry", reason: "Moved", isOutdated: true };
  const { push, delivered, sleeps } = scene({}, [outdated]);
  await push("a");
  expect([delivered, sleeps]).toEqual([["a", "a"], []]);
  const failed: AttemptResult = { kind: "retry", reason: "Wrong", scope: "event" };
  const again = scene({}, [failed, outdated]);
  await again.push("a");
  await again.pass(RETRY_DELAY_MS_MIN);
  expect(again.delivered).toEqual(["a", "a", "a"]);
  expect(again.sleeps).toEqual([RETRY_DELAY_MS_MIN]);
});

test("events whose attempt a stop ends have no outcome", async () => {
  for (const scope of ["event", undefined] as const) {
    let isRunning = true;
    const { push, settled, sleeps } = scene({
      isRunning: () => isRunning,
      async deliver() {
        isRunning = false;
        return { kind: "retry", reason: "Stopped", scope };
      },
    } as Partial<DeliveryQueueContext>);
    await push("a");
    expect([settled, sleeps]).toEqual([[], []]);
  }
});

test("one event that is refused among several is found, and the others are delivered", async () => {
  const requests: string[] = [];
  const { push, settled, sleeps } = scene({
    batchSize: () => 4,
    async deliver(outputs) {
      const texts = outputs.map(({ bytes }) => String(bytes));
      requests.push(texts.join(" "));
      return texts.includes("b") ? { kind: "rejected", reason: "No b" } : { kind: "delivered" };
    },
  });
  await push("a", "b", "c", "d");
  expect(requests).toEqual(["a b c d", "a b", "a", "b", "c d"]);
  expect(settled).toEqual(["delivered a", "dead-letter b", "delivered c", "delivered d"]);
  expect(sleeps).toEqual([]);
});

test("later events of a user whose event waits for its retry stay behind it", async () => {
  const own: AttemptResult = { kind: "retry", scope: "event", reason: "It is wrong" };
  const { queue, push, pass, delivered, settled } = scene({ batchSize: () => 3 }, [own]);
  await push("a1");
  await push("a2", "b1", "a3");
  expect(delivered).toEqual(["a1", "b1"]);
  expect(queue.load).toBe(0);
  await pass(RETRY_DELAY_MS_MIN);
  expect(delivered).toEqual(["a1", "b1", "a1", "a2 a3"]);
  expect(settled).toEqual(["b1", "a1", "a2", "a3"].map((text) => `delivered ${text}`));
});

test("events of a failed request that belong to a user whose event failed alone stay behind it", async () => {
  const wrong: AttemptResult = { kind: "retry", scope: "event", reason: "It is wrong" };
  const requests: string[] = [];
  let isWrong = true;
  const { push, pass, settled } = scene({
    batchSize: () => 4,
    async deliver(outputs) {
      const texts = outputs.map(({ bytes }) => String(bytes));
      requests.push(texts.join(" "));
      return isWrong && texts.includes("a1") ? wrong : { kind: "delivered" };
    },
  });
  await push("a1", "a2", "b1");
  const failed = ["a1 a2 b1", "a1 a2", "a1"];
  expect(requests).toEqual(failed);
  isWrong = false;
  await pass(4 * RETRY_DELAY_MS_MIN);
  expect(requests).toEqual([...failed, "b1", "a1", "a2"]);
  expect(settled).toEqual(["b1", "a1", "a2"].map((text) => `delivered ${text}`));
});

test("retries come before their time once the events behind them take much memory", async () => {
  const own: AttemptResult = { kind: "retry", scope: "event", reason: "It is wrong" };
  const requests = async (waiting: number) => {
    const outputCounts = { ...zeroOutputCounts(), waiting };
    const { push, delivered } = scene({ outputCounts }, [own]);
    await push("a1");
    await push("b1", "b2");
    return delivered;
  };
  const most = LANE_IN_FLIGHT_EVENTS_MAX / 4;
  expect(await requests(most - 1)).toEqual(["a1", "b1", "b2"]);
  expect(await requests(most)).toEqual(["a1", "a1", "b1", "b2"]);
});

test("a user's next event is tried after many failures, and shows that the failing one is at fault", async () => {
  const requests: string[] = [];
  const { push, pass, settled } = scene({
    async deliver([output]) {
      requests.push(String(output!.bytes));
      return requests.at(-1) === "a1"
        ? { kind: "retry", scope: "event", reason: "It is wrong" }
        : { kind: "delivered" };
    },
  });
  await push("a1", "a2", "a3");
  for (let n = 0; n < 2 * FOLLOWER_ATTEMPTS_MIN; n++) await pass(RETRY_DELAY_MS_MAX);
  const wrong = Array.from({ length: FOLLOWER_ATTEMPTS_MIN }, () => "a1");
  expect(requests.slice(0, FOLLOWER_ATTEMPTS_MIN + 2)).toEqual([...wrong, "a2", "a1"]);
  expect(settled).toEqual(["delivered a2", "delivered a3", "dead-letter a1"]);
});

test("a broken invariant in a queue stops its lane", async () => {
  const errors: unknown[] = [];
  const { push } = scene({
    deliver: () => Promise.reject(new Error("Broken")),
    fail: (error) => void errors.push(error),
  });
  await push("a");
  expect(errors).toEqual([new Error("Broken")]);
});
