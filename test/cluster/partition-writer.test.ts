import { afterEach, expect, jest, mock, spyOn, test } from "bun:test";
import { Registry } from "prom-client";
import { InvariantError } from "../../src/assert.ts";
import { PartitionWriter } from "../../src/cluster/events/partition-writer.ts";
import { appendTogether, openPartitionedLog } from "../../src/cluster/events/partitioned-log.ts";
import { sequenceOf } from "../../src/cluster/events/sequence.ts";
import * as kafka from "../../src/kafka/client.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import { BLOCK_RECORDS_MAX } from "../../src/log/block.ts";
import { type LogHealth, LogUnavailable } from "../../src/log/event-log.ts";
import { listeningLogger, metricValue, quiet, textCodec, until } from "../log/support.ts";

afterEach(() => {
  jest.useRealTimers();
  mock.restore();
});

test("a broken invariant of a probe is logged once, while the writer continues to probe", async () => {
  let sends = 0;
  const producer = {
    async send() {
      sends += 1;
      if (sends === 1) throw new Error("The brokers are away");
      throw new InvariantError("Broken invariant: a test's own");
    },
  };
  const { logger, lines } = listeningLogger();
  const writer = new PartitionWriter({
    partition: 0,
    producer: producer as unknown as IdempotentProducer,
    codec: textCodec,
    end: 0n,
    logger,
  });
  await expect(writer.append("lost")).rejects.toThrow(LogUnavailable);
  await until(() => sends > 3);
  await writer.close();
  const faults = lines.filter(({ msg }) => msg.includes("broken invariant"));
  expect(faults).toHaveLength(1);
});

test("a writer without recent blocks learns by a test block whether its partition is writable", async () => {
  let isAway = false;
  let sends = 0;
  const producer = {
    async send(_: number, take: () => Buffer) {
      sends += 1;
      take();
      if (isAway) throw new Error("The brokers are away");
      return 0n;
    },
  };
  const open = () =>
    new PartitionWriter({
      partition: 0,
      producer: producer as unknown as IdempotentProducer,
      codec: textCodec,
      end: 0n,
      logger: listeningLogger().logger,
    });
  const writable = open();
  expect(writable.acknowledged()).toBeUndefined();
  writable.probe();
  // A record that is appended during the test block is sent with it or after it.
  await writable.append("kept");
  expect(writable.acknowledged()).toBe(true);
  const before = sends;
  writable.probe();
  await writable.close();
  expect(sends).toBe(before);
  isAway = true;
  const failing = open();
  failing.probe();
  await until(() => failing.acknowledged() === false);
  expect(String(failing.failure())).toContain("away");
  isAway = false;
  await until(() => failing.acknowledged() === true);
  await failing.close();
});

test("a request of which one partition takes nothing is stored in no partition", async () => {
  const stored: string[] = [];
  const isAway = new Set([1]);
  const producer = {
    async send(partition: number, take: () => Buffer) {
      const block = take();
      if (isAway.has(partition)) throw new Error("The brokers are away");
      stored.push(...(block.toString("latin1").match(/event \d/g) ?? []));
      return 0n;
    },
  };
  const writers = [0, 1].map(
    (partition) =>
      new PartitionWriter({
        partition,
        producer: producer as unknown as IdempotentProducer,
        codec: textCodec,
        end: 0n,
        logger: listeningLogger().logger,
      }),
  );
  const append = () => appendTogether(writers, ["event 0", "event 1", "event 2"], [0, 1, 2]);
  // No client knows yet that the partition fails.
  const first = append();
  await expect("stored" in first ? first.stored : undefined).rejects.toThrow(LogUnavailable);
  expect(stored).toEqual(["event 0", "event 2"]);
  expect(append()).toEqual({ refusal: "The brokers take nothing" });
  expect(append()).toEqual({ refusal: "The brokers take nothing" });
  isAway.clear();
  await until(() => writers[1]!.healthy());
  stored.length = 0;
  const last = append();
  if ("stored" in last) await last.stored;
  expect(stored.toSorted()).toEqual(["event 0", "event 1", "event 2"]);
  await Promise.all(writers.map((writer) => writer.close()));
});

test("a request to a partition with too many waiting records is stored as a whole or not at all", async () => {
  const sent = Promise.withResolvers<void>();
  const blocks: Buffer[] = [];
  const producer = {
    async send(_: number, take: () => Buffer) {
      blocks.push(Buffer.from(take()));
      await sent.promise;
      return BigInt(blocks.length);
    },
  };
  const writer = new PartitionWriter({
    partition: 0,
    producer: producer as unknown as IdempotentProducer,
    codec: textCodec,
    end: 0n,
    logger: listeningLogger().logger,
    pendingBytesMax: 100,
  });
  const request = Array.from({ length: 10 }, (_, i) => `a record of some bytes ${i}`);
  const first = writer.appendAll(request);
  await expect(writer.appendAll(request)).rejects.toThrow("Too many records wait");
  sent.resolve();
  await first;
  await writer.close();
  expect(blocks.join("").match(/a record of some bytes/g)).toHaveLength(10);
});

test("a writer reports its failure, each failed probe, and its recovery", async () => {
  let sends = 0;
  const producer = {
    async send(_: number, take: () => Buffer) {
      sends += 1;
      take();
      if (sends <= 3) throw new Error("The brokers are away");
      return 0n;
    },
  };
  const states: boolean[] = [];
  const writer: PartitionWriter<string> = new PartitionWriter({
    partition: 0,
    producer: producer as unknown as IdempotentProducer,
    codec: textCodec,
    end: 0n,
    logger: listeningLogger().logger,
    onChange: () => states.push(writer.healthy()),
  });
  await expect(writer.append("lost")).rejects.toThrow(LogUnavailable);
  await until(() => writer.healthy());
  // The reason of a failed partition is that of its last probe, so each one is reported.
  expect(states).toEqual([false, false, false, true]);
  await writer.close();
});

/** Counters of a writer, as numbers. */
function countersOf() {
  const counts = { records: 0, bytes: 0, rejected: 0, flushes: 0 };
  const counter = (name: keyof typeof counts) => ({
    inc(by: number) {
      counts[name] += by;
    },
    observe() {
      counts[name] += 1;
    },
  });
  const metrics = {
    records: counter("records"),
    bytes: counter("bytes"),
    rejected: counter("rejected"),
    flushSeconds: counter("flushes"),
  };
  return { counts, metrics: metrics as unknown as NonNullable<Options["metrics"]> };
}
type Options = ConstructorParameters<typeof PartitionWriter<string>>[0];

/** A producer that takes each block at once, and acknowledges all of them with `answer`. */
function slowProducer() {
  const answer = Promise.withResolvers<bigint>();
  const producer = {
    send(_: number, take: () => Buffer) {
      take();
      return answer.promise;
    },
  };
  return { answer, producer };
}

test("records that the brokers leave unanswered are rejected after 10 s, and counted once", async () => {
  jest.useFakeTimers();
  const { answer, producer } = slowProducer();
  const { counts, metrics } = countersOf();
  const writer = new PartitionWriter({
    ...{ partition: 0, codec: textCodec, end: 0n, metrics },
    producer: producer as unknown as IdempotentProducer,
    logger: listeningLogger().logger,
  });
  const late = writer.appendAll(["one", "two"]);
  const waiting = writer.append("three");
  jest.advanceTimersByTime(9_999);
  expect(writer.refusal()).toBeUndefined();
  jest.advanceTimersByTime(1);
  for (const each of [late, waiting]) {
    await expect(each).rejects.toThrow("The brokers did not accept it");
  }
  expect(String(writer.failure())).toContain("The brokers said nothing for 10 s");
  expect(writer.refusal()).toBe("The brokers take nothing");
  expect(counts.rejected).toBe(3);
  // The request itself may stay unanswered for minutes.
  await writer.close();
  jest.useRealTimers();
  answer.reject(new Error("The leader is away"));
  await until(() => String(writer.failure()).includes("The leader is away"));
  expect(counts).toEqual({ records: 0, bytes: 0, rejected: 3, flushes: 0 });
  await expect(writer.append("four")).rejects.toThrow("The event log is closed");
  expect(counts.rejected).toBe(4);
});

test("a late acknowledgement makes the partition writable again, and is logged", async () => {
  jest.useFakeTimers();
  const { answer, producer } = slowProducer();
  const { logger, lines } = listeningLogger();
  const writer = new PartitionWriter({
    ...{ partition: 0, codec: textCodec, end: 0n, logger },
    producer: producer as unknown as IdempotentProducer,
  });
  const rejected = writer.append("one").catch((error) => error);
  jest.advanceTimersByTime(10_000);
  expect(await rejected).toBeInstanceOf(LogUnavailable);
  jest.useRealTimers();
  answer.resolve(0n);
  await until(() => writer.refusal() === undefined);
  expect(lines.map(({ msg }) => msg)).toEqual([
    ...["event log cannot be written", "event log can be written again"],
  ]);
  await writer.close();
});

test("an answer that arrived while the process stood still for 10 s keeps its records", async () => {
  jest.useFakeTimers();
  const { answer, producer } = slowProducer();
  const writer = new PartitionWriter({
    ...{ partition: 0, codec: textCodec, end: 0n },
    producer: producer as unknown as IdempotentProducer,
    logger: listeningLogger().logger,
  });
  const kept = writer.append("kept");
  // The timers that are due are called before the sockets are read.
  jest.runOnlyPendingTimers();
  answer.resolve(0n);
  await kept;
  jest.advanceTimersByTime(10_000);
  expect(writer.healthy()).toBe(true);
  await writer.close();
});

test("closing a writer waits for its records, and not for a test block", async () => {
  const answers: PromiseWithResolvers<bigint>[] = [];
  const producer = {
    send(_: number, take: () => Buffer) {
      take();
      const answer = Promise.withResolvers<bigint>();
      answers.push(answer);
      return answer.promise;
    },
  };
  const writer = new PartitionWriter({
    ...{ partition: 0, codec: textCodec, end: 0n, logger: listeningLogger().logger },
    producer: producer as unknown as IdempotentProducer,
  });
  const stored = writer.append("one");
  let isClosed = false;
  const closing = writer.close().then(() => {
    isClosed = true;
  });
  await Bun.sleep(0);
  expect(isClosed).toBe(false);
  answers[0]!.resolve(0n);
  await Promise.all([stored, closing]);

  const failing = new PartitionWriter({
    ...{ partition: 1, codec: textCodec, end: 0n, logger: listeningLogger().logger },
    producer: producer as unknown as IdempotentProducer,
  });
  failing.probe();
  expect(answers).toHaveLength(2);
  await failing.close();
});

test("stored records are counted once per batch, and the end of the log is that of the last block", async () => {
  let next = 41n;
  const sealed: number[] = [];
  const producer = {
    async send(_: number, take: () => Buffer) {
      sealed.push(take().length);
      return next++;
    },
  };
  const { counts, metrics } = countersOf();
  const writer = new PartitionWriter({
    ...{ partition: 0, codec: textCodec, end: 41n, metrics },
    producer: producer as unknown as IdempotentProducer,
    logger: listeningLogger().logger,
  });
  expect(writer.durable()).toBe(sequenceOf(41n));
  // More than one block has room for.
  const records = Array.from({ length: BLOCK_RECORDS_MAX + 1 }, (_, n) => `${n}`);
  await writer.appendAll(records);
  expect(writer.durable()).toBe(sequenceOf(43n));
  await writer.close();
  const bytes = sealed.reduce((sum, length) => sum + length);
  expect(sealed).toHaveLength(2);
  expect(counts).toEqual({ records: records.length, bytes, rejected: 0, flushes: 1 });
});

test("a log appends each record to the partition of its key, and names the partitions that take none", async () => {
  const sent: [partition: number, records: number][] = [];
  const refusing = new Set<number>();
  let closed = 0;
  const close = async () => {
    closed += 1;
  };
  const clients = { producer: () => ({}), close };
  spyOn(kafka, "connectClients").mockResolvedValue(clients as never);
  const error = Object.assign(new Error("Full"), { apiId: "KAFKA_STORAGE_ERROR" });
  const refusal = { leader: "b:9092", broker: "b:9092", error };
  spyOn(IdempotentProducer.prototype, "refusal").mockReturnValue(refusal);
  spyOn(IdempotentProducer.prototype, "send").mockImplementation(async (partition, take) => {
    sent.push([partition, take().readUInt32LE(8)]);
    if (refusing.has(partition)) throw error;
    return BigInt(sent.length);
  });
  const reports: LogHealth[] = [];
  const metrics = new Registry();
  const log = await openPartitionedLog(
    { brokers: { brokers: [] }, topic: "p.events", partitions: 3 },
    { codec: textCodec, logger: quiet, metrics, onHealth: (health) => reports.push(health) },
  );
  expect(log.health()).toEqual({ failing: 0, writable: 0, faults: [] });
  expect(reports).toEqual([]);
  await log.append("a", 4);
  expect(reports).toEqual([{ failing: 0, writable: 1, faults: [] }]);
  await log.append("b", 1);
  expect(reports).toHaveLength(1);
  await log.appendAll(["c", "d", "e"], [0, 2, 3]);
  expect(sent.map(([partition, records]) => `${partition}: ${records}`).sort()).toEqual([
    ...["0: 2", "1: 1", "1: 1", "2: 1"],
  ]);
  expect(await metricValue(metrics, "pixelmill_log_healthy_ratio")).toBe(1);

  refusing.add(0);
  await expect(log.append("x", 0)).rejects.toThrow(LogUnavailable);
  const faults = [
    "p.events is not written in partition 0: broker b:9092, which leads, cannot write its disk",
  ];
  expect(log.health()).toEqual({ failing: 1, writable: 2, faults });
  expect(reports.at(-1)).toEqual(log.health());
  expect(await metricValue(metrics, "pixelmill_log_healthy_ratio")).toBeCloseTo(2 / 3);
  expect(await metricValue(metrics, "pixelmill_log_rejected_records_total")).toBe(1);
  sent.length = 0;
  // Test blocks may be sent to the partition that takes none.
  const others = () => sent.filter(([partition]) => partition !== 0);
  await expect(log.appendAll(["y", "z"], [1, 0])).rejects.toThrow("The brokers take nothing");
  expect(others()).toEqual([]);
  expect(await metricValue(metrics, "pixelmill_log_rejected_records_total")).toBe(3);
  await log.append("w", 2);
  expect(others()).toEqual([[2, 1]]);
  await log.close();
  expect(closed).toBe(1);
  await expect(log.append("late", 2)).rejects.toThrow("The event log is closed");
});
