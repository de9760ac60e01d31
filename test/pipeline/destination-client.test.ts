import { expect, test } from "bun:test";
import { pino } from "pino";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { systemClock } from "../../src/pipeline/clock.ts";
import { DestinationClient } from "../../src/pipeline/delivering/destination-client.ts";
import { createOutput, type Output } from "../../src/pipeline/model/lane-event.ts";
import { HealthLogger } from "../../src/pipeline/monitoring/health-logger.ts";
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
