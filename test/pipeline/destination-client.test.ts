import { expect, test } from "bun:test";
import { pino } from "pino";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { RETRIED, rowOf } from "../../src/figures/row.ts";
import { systemClock } from "../../src/pipeline/clock.ts";
import {
  DestinationClient,
  type DestinationPast,
} from "../../src/pipeline/delivering/destination-client.ts";
import { createOutput, type Output } from "../../src/pipeline/model/lane-event.ts";
import type { FailureRecord } from "../../src/pipeline/model/lane-record.ts";
import { HealthLogger } from "../../src/pipeline/monitoring/health-logger.ts";
import { quiet } from "../log/support.ts";
import { holds, until } from "../until.ts";
import { FakeLive, laneEvent, laneMetrics } from "./doubles.ts";

/** A client whose destination delivers and closes in this way; `change` gives it another config. */
function setUp(close: () => Promise<void>, verdict: DeliveryResult = { kind: "delivered" }) {
  const lines: string[] = [];
  const kind = {
    kind: "test",
    secretKeys: [],
    open: () => ({ deliver: async () => verdict, close }),
  } as unknown as DestinationKind;
  const destination = {
    ...{ id: "one", workspaceId: "workspace", name: "One", type: "test", enabled: true },
    ...{ config: {}, createdAt: 0, updatedAt: 0 },
  };
  const logger = pino({}, { write: (line: string) => lines.push(line) });
  const parts = {
    clock: systemClock,
    metrics: laneMetrics(),
    logger,
    labels: { destination: "one", name: "One", kind: "test" },
    earlierFailure: {},
    health: new HealthLogger({
      clock: systemClock,
      logger,
      destination: () => destination,
    }),
  };
  const receiver = new DestinationClient(kind, destination, parts, () => {});
  const change = (n: number) => receiver.update({ ...destination, config: { n } });
  return { receiver, change, lines };
}

test("a failed close of a destination is logged, and the next delivery continues", async () => {
  const { receiver, change, lines } = setUp(() => Promise.reject(new Error("EIO")));
  await receiver.deliver([]);
  change(1);
  await until(() => lines.length === 1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ destination: "one", err: { message: "EIO" } });
  expect(await receiver.deliver([])).toEqual({ kind: "delivered" });
  await receiver.close();
  expect(lines).toHaveLength(2);
});

test("closing a destination client waits for the destination of an earlier config to close", async () => {
  const closed = Promise.withResolvers<void>();
  const { receiver, change } = setUp(() => closed.promise);
  await receiver.deliver([]);
  change(1);
  let isEnded = false;
  const end = receiver.close().then(() => {
    isEnded = true;
  });
  await holds(1, () => expect(isEnded).toBe(false));
  closed.resolve();
  await end;
});

test("a new config clears the failures of the one before", async () => {
  const { receiver, change } = setUp(async () => {}, {
    kind: "retry",
    reason: "Connection refused",
  });
  await receiver.deliver([]);
  expect(receiver.failure).toMatchObject({ reason: "Connection refused" });
  change(1);
  expect(receiver.failure).toBeUndefined();
  await receiver.close();
});

test("a receiver of a new config fails with its first refusal, whatever the one before accepted", async () => {
  const verdict = { kind: "delivered" } as DeliveryResult;
  const { receiver, change } = setUp(async () => {}, verdict);
  await receiver.deliver([]);
  Object.assign(verdict, { kind: "rejected", reason: "No such path" });
  await receiver.deliver([]);
  expect(receiver.refusal).toBeUndefined();
  change(1);
  await receiver.deliver([]);
  expect(receiver.refusal).toMatchObject({ reason: "No such path" });
  await receiver.close();
});

test("an attempt with a former config says nothing about the new one", async () => {
  const verdict = Promise.withResolvers<DeliveryResult>();
  const { receiver, change } = setUp(async () => {}, verdict.promise as never);
  const delivery = receiver.deliver([]);
  change(1);
  verdict.resolve({ kind: "delivered", refused: new Map([[0, "No such path"]]) });
  await delivery;
  expect(receiver.lastFailure).toBeUndefined();
  await receiver.close();
});

test("an attempt that a stop aborts is no failure of the receiver", async () => {
  const { receiver } = setUp(async () => {}, { kind: "retry", reason: "The delivery was stopped" });
  receiver.abort();
  await receiver.deliver([]);
  expect([receiver.failureRecord, receiver.lastFailure]).toEqual([{}, undefined]);
  await receiver.close();
});

test("an answer shows no credentials of its events, however often these have changed since", async () => {
  const verdict = { kind: "rejected", reason: "No first-secret, second-secret" } as const;
  const { receiver, change } = setUp(async () => {}, verdict);
  const live = new FakeLive();
  live.publish("one", "", "1");
  const program = live.program("one")!;
  const madeWith = (token: string) =>
    createOutput(laneEvent(), Buffer.from("{}"), { ...program, credentials: { token } });
  const [first, second] = [madeWith("first-secret"), madeWith("second-secret")];
  const reasonOf = async (...events: Output[]) => {
    const result = await receiver.deliver(events);
    return "reason" in result && result.reason;
  };
  expect(await reasonOf(first)).toBe("No ***, second-secret");
  await reasonOf(second);
  await reasonOf(madeWith("third-secret"));
  change(1);
  expect(await reasonOf(first)).toBe("No ***, second-secret");
  expect(await reasonOf(first, second)).toBe("No ***, ***");
  await receiver.close();
});

test("credentials are prepared for masking once, and not for each attempt or config", async () => {
  const verdict = { kind: "rejected", reason: "No counted-secret" } as const;
  const { receiver, change } = setUp(async () => {}, verdict);
  const live = new FakeLive();
  live.publish("one", "", "1");
  let reads = 0;
  const credentials = {
    get token() {
      reads += 1;
      return "counted-secret";
    },
  };
  const outputOf = (more: object) =>
    createOutput(laneEvent(), Buffer.from("{}"), { ...live.program("one")!, ...more });
  const counted = outputOf({ credentials });
  for (const events of [[counted], [outputOf({}), counted], [counted]]) {
    expect(await receiver.deliver(events)).toMatchObject({ reason: "No ***" });
    change(1);
  }
  expect(reads).toBe(1);
  await receiver.close();
});

const accepted: DeliveryResult = { kind: "delivered" };
const refused: DeliveryResult = { kind: "rejected", reason: "HTTP 400" };
const busy: DeliveryResult = { kind: "retry", reason: "HTTP 503" };
const partly: DeliveryResult = { kind: "delivered", refused: new Map([[0, "No such column"]]) };

/** Start of the clocks of `scene`: its wall clock is `EPOCH` ahead of the other one. */
const START = 120_000;
const EPOCH = 60_000_000_000;

/** A client whose clock and answers the test sets. */
function scene(earlierFailure: FailureRecord = {}, past?: DestinationPast) {
  const clock = { ms: START, elapsed: () => clock.ms, now: () => EPOCH + clock.ms };
  const answers: (() => DeliveryResult | Promise<DeliveryResult>)[] = [];
  const opened: unknown[] = [];
  const recorded: string[] = [];
  let recoveries = 0;
  let closed = 0;
  const kind = {
    kind: "test",
    secretKeys: [],
    batchSize: ({ size = 7 }: { size?: number }) => size,
    open(config: unknown, workspaceId: string) {
      opened.push([config, workspaceId]);
      return {
        deliver: async () => answers.shift()!(),
        async close() {
          closed += 1;
        },
      };
    },
  } as unknown as DestinationKind;
  const destination = {
    ...{ id: "one", workspaceId: "workspace", name: "One", type: "test", enabled: true },
    ...{ config: {}, createdAt: 0, updatedAt: 0 },
  };
  const metrics = laneMetrics();
  const labels = { destination: "one", name: "One", kind: "test" };
  const health = { recordAttempt: ({ kind }: DeliveryResult) => void recorded.push(kind) };
  const parts = { clock, metrics, labels, earlierFailure, past, health, logger: quiet };
  const client = new DestinationClient(kind, destination, parts, () => {
    recoveries += 1;
  });
  return {
    ...{ client, clock, kind, opened, recorded },
    recoveries: () => recoveries,
    closed: () => closed,
    update: (config: Record<string, unknown>) => client.update({ ...destination, config }),
    /** Delivers events, which get this answer. */
    send(answer: DeliveryResult | (() => DeliveryResult | Promise<DeliveryResult>), count = 1) {
      answers.push(typeof answer === "function" ? answer : () => answer);
      const output = () => createOutput(laneEvent(), Buffer.from("{}"));
      return client.deliver(Array.from({ length: count }, output));
    },
    /** Attempts of the current minute that failed. */
    retried() {
      return rowOf(metrics.histories.get("one").minute(EPOCH + START)?.counters ?? [])[RETRIED];
    },
  };
}

test("a receiver that has accepted nothing yet refuses all events after its first refusal", async () => {
  const { client, clock, send } = scene();
  expect([client.isWell, client.refusal]).toEqual([true, undefined]);
  await send(refused);
  clock.ms += 5;
  await send({ ...refused, reason: "HTTP 422" });
  const since = { since: START, startedAt: EPOCH + START };
  expect(client.refusal).toMatchObject({ ...since, reason: "HTTP 422" });
  expect(client.isWell).toBe(false);
});

test("a receiver that has accepted events refuses all of them after its third refusal in a row", async () => {
  const { client, clock, send } = scene({}, { hasDelivered: true, lastFailure: undefined });
  for (const expected of [undefined, undefined, "HTTP 400"]) {
    await send(refused);
    clock.ms += 5;
    expect(client.refusal?.reason).toBe(expected!);
    expect(client.isWell).toBe(false);
  }
  expect(client.refusal?.since).toBe(START);
  // A failure in between says nothing about refusals.
  await send(busy);
  expect(client.refusal?.reason).toBe("HTTP 400");
  await send(accepted);
  expect([client.refusal, client.isWell]).toEqual([undefined, true]);
  await send(refused);
  expect(client.refusal).toBeUndefined();
});

test("a receiver that refuses some events works, and one that refuses each of them does not", async () => {
  const some = scene();
  await some.send(partly, 2);
  const lastFailure = { at: EPOCH + START, reason: "No such column" };
  expect(some.client.past).toEqual({ hasDelivered: true, lastFailure });
  expect([some.client.isWell, some.client.refusal]).toEqual([true, undefined]);
  const all = scene();
  await all.send(partly, 1);
  expect(all.client.past).toEqual({ hasDelivered: false, lastFailure });
  expect(all.client.refusal?.reason).toBe("No such column");
});

test("an outage lasts from the first failure to the next answer, with the reason of the last failure", async () => {
  const { client, clock, send } = scene();
  await send(busy);
  clock.ms += 10;
  await send({ ...busy, reason: "HTTP 502" });
  expect(client.failure).toMatchObject({
    ...{ since: START, startedAt: EPOCH + START, at: START + 10, reason: "HTTP 502" },
  });
  expect(client.lastFailure).toMatchObject({ at: EPOCH + START + 10, reason: "HTTP 502" });
  await send(refused);
  expect(client.failure).toBeUndefined();
  await send(accepted);
  expect(client.lastFailure?.reason).toBe("HTTP 400");
});

test.each([
  [1_999, 0],
  [2_000, 1],
])("the first answer after an outage of %d ms counts as %d recoveries", async (ms, expected) => {
  for (const answer of [accepted, refused]) {
    const { clock, recoveries, send } = scene();
    await send(busy);
    clock.ms += ms;
    await send(busy);
    expect(recoveries()).toBe(0);
    await send(answer);
    await send(answer);
    expect(recoveries()).toBe(expected);
  }
});

test("a record of failures has the length of an outage and of refusals, and why", async () => {
  const { client, clock, send } = scene();
  expect(client.failureRecord).toEqual({});
  await send(busy);
  expect(client.failureRecord).toEqual({ outageMs: 1, reason: "HTTP 503" });
  clock.ms += 1_500.5;
  expect(client.failureRecord).toEqual({ outageMs: 1_500, reason: "HTTP 503" });
  await send(refused);
  clock.ms += 20;
  expect(client.failureRecord).toEqual({ refusedMs: 20, reason: "HTTP 400" });
  await send(accepted);
  expect(client.failureRecord).toEqual({});
});

test("a client continues with the failures that earlier processes recorded", () => {
  const down = scene({ outageMs: 5_000, reason: "HTTP 503" });
  expect(down.client.failure).toMatchObject({
    ...{ since: START - 5_000, startedAt: EPOCH + START - 5_000, at: Number.NEGATIVE_INFINITY },
  });
  expect(down.client.failureRecord).toEqual({ outageMs: 5_000, reason: "HTTP 503" });
  const refusing = scene({ refusedMs: 3_000 }, { hasDelivered: true, lastFailure: undefined });
  expect(refusing.client.refusal?.reason).toBe("All attempts failed");
  expect(refusing.client.failureRecord).toMatchObject({ refusedMs: 3_000 });
  expect(refusing.client.past.hasDelivered).toBe(true);
  const lastFailure = { at: 1, reason: "HTTP 400" };
  expect(scene({}, { hasDelivered: false, lastFailure }).client.lastFailure).toBe(lastFailure);
});

test("equal settings keep the failures and the open destination, and other ones neither", async () => {
  const { client, update, send, opened, closed } = scene();
  await send(refused);
  await send(busy);
  update({});
  expect([client.failure?.reason, client.refusal?.reason]).toEqual(["HTTP 503", "HTTP 400"]);
  expect([opened, closed()]).toEqual([[[{}, "workspace"]], 0]);
  update({ size: 3 });
  expect([client.failure, client.refusal, client.lastFailure]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  expect([client.batchSize, closed()]).toEqual([3, 1]);
  await send(accepted);
  expect(opened.slice(1)).toEqual([[{ size: 3 }, "workspace"]]);
});

test.each([
  [accepted, accepted],
  [refused, { kind: "retry", reason: "HTTP 400", isOutdated: true }],
  [busy, { kind: "retry", reason: "HTTP 503", isOutdated: true }],
])("an answer %j to a delivery of earlier settings is %j", async (answer, expected) => {
  const { client, update, send, closed } = scene();
  const { promise, resolve } = Promise.withResolvers<DeliveryResult>();
  const sent = send(() => promise);
  update({ size: 3 });
  expect(closed()).toBe(0);
  resolve(answer);
  expect(await sent).toMatchObject(expected);
  expect(client.isWell).toBe(true);
  expect(client.past).toEqual({ hasDelivered: false, lastFailure: undefined });
  await client.close();
  expect(closed()).toBe(1);
});

test("attempts that a stop aborts say nothing about the receiver", async () => {
  const { client, send, recorded, retried } = scene();
  await send(busy);
  expect([recorded, retried()]).toEqual([["retry"], 1]);
  await send(accepted);
  expect(retried()).toBe(1);
  client.abort();
  await send(busy);
  expect([recorded, retried()]).toEqual([["retry", "delivered"], 1]);
});

test("a delivery that throws is tried again with the same destination", async () => {
  const { client, send, opened, closed } = scene();
  const failed = await send(() => Promise.reject(new Error("A fault")));
  expect(failed).toMatchObject({ kind: "retry", reason: "The delivery failed to run" });
  expect(await send(accepted)).toEqual({ kind: "delivered" });
  expect([opened.length, closed()]).toEqual([1, 0]);
  await client.close();
  expect(closed()).toBe(1);
});

test("a destination that does not open is opened again by the next delivery", async () => {
  const { client, kind, send } = scene();
  const { open } = kind;
  kind.open = () => {
    throw new Error("A fault");
  };
  expect(await send(accepted)).toMatchObject({ kind: "retry" });
  kind.open = open;
  expect(await send(accepted)).toEqual({ kind: "delivered" });
  await client.close();
});

test("a kind without batches has one key for all events, and no limits of a batch", () => {
  const { client } = scene();
  const output = createOutput(laneEvent(), Buffer.from("{}"));
  expect([client.batchKey(output), client.batchSize]).toEqual(["", 7]);
  expect(client.batchLimits).toEqual({ bytes: 0, ageMs: 0 });
});
