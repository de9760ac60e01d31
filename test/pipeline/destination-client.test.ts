import { expect, test } from "bun:test";
import { pino } from "pino";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { systemClock } from "../../src/pipeline/clock.ts";
import { DestinationClient } from "../../src/pipeline/delivering/destination-client.ts";
import { HealthLogger } from "../../src/pipeline/monitoring/health-logger.ts";
import { holds, until } from "../until.ts";
import { laneMetrics } from "./doubles.ts";

/** A client whose destination delivers and closes in this way; `change` gives it another config. */
function setUp(
  close: () => Promise<void>,
  verdict: DeliveryResult = { kind: "delivered" },
  credentials: () => Record<string, string> | undefined = () => undefined,
) {
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
    credentials,
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

test("no attempt is made while the credentials cannot be read, which its result must not show", async () => {
  let isBroken = true;
  const credentials = { token: "s3cret-token" };
  const { receiver } = setUp(
    async () => {},
    { kind: "rejected", reason: "No s3cret-token" },
    () => {
      if (isBroken) throw new Error("The catalog is being opened again");
      return credentials;
    },
  );
  const reason = "The catalog is being opened again";
  expect(await receiver.deliver([])).toEqual({ kind: "retry", reason });
  expect([receiver.failure, receiver.isWell]).toEqual([undefined, true]);
  isBroken = false;
  expect(await receiver.deliver([])).toMatchObject({ kind: "rejected", reason: "No ***" });
  await receiver.close();
});
