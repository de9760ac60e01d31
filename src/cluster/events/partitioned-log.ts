import { type BrokerSettings, connectClients } from "../../kafka/client.ts";
import { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import { type LogHealth, LogUnavailable, type RecordCodec } from "../../log/event-log.ts";
import { writerMetrics } from "../../log/metrics.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { LOG_PENDING_BYTES_MAX } from "../../settings/limits.ts";
import { describePartitionFaults } from "../topics/write-refusal.ts";
import { PartitionWriter } from "./partition-writer.ts";

/**
 * Settings with which a process opens a topic to append events to its partitions. The server passes
 * them, as JSON, to the ingest processes (which accept events).
 */
export interface PartitionedLogSettings {
  brokers: BrokerSettings;
  topic: string;
  /**
   * Number of the topic's partitions that the server knew when it created this object. The log also
   * appends to partitions that are added later.
   */
  partitions: number;
}

export interface PartitionedLogParts<T> {
  codec: RecordCodec<T>;
  logger: Logger;
  metrics: Metrics;
  /** Called with the result of `health` when it may have changed. */
  onHealth(health: LogHealth): void;
}

/**
 * Event log to which records are appended. It consists of all partitions of a topic; a record's key
 * chooses its partition.
 */
export type PartitionedLog<T> = Awaited<ReturnType<typeof openPartitionedLog<T>>>;

/**
 * Opens a topic for appending. Opening succeeds even when no broker can be reached. `append` then
 * rejects until a broker answers.
 */
export async function openPartitionedLog<T>(
  { brokers, topic, partitions }: PartitionedLogSettings,
  { codec, logger, metrics, onHealth }: PartitionedLogParts<T>,
) {
  const clients = await connectClients(brokers);
  const { healthy: share, ...shared } = writerMetrics(metrics);
  const writers: PartitionWriter<T>[] = [];
  let writable = 0;
  let failing: number[] = [];
  const health = (): LogHealth => {
    const faults = failing.map((partition) => ({ partition, ...producer.refusal(partition) }));
    return { failing: failing.length, writable, faults: describePartitionFaults(topic, faults) };
  };
  const onChange = () => {
    const before = { writable, hasFailed: failing.length > 0 };
    failing = writers.flatMap((it, partition) => (it.healthy() ? [] : [partition]));
    writable = writers.filter((writer) => writer.acknowledged()).length;
    share.set((writers.length - failing.length) / writers.length);
    // A partition without recent pixels is known to be writable only when it takes a test block.
    if (failing.length > 0) for (const writer of writers) writer.probe();
    if (failing.length > 0 || before.hasFailed || before.writable !== writable) onHealth(health());
  };
  const producer = new IdempotentProducer({
    producer: clients.producer("zstd"),
    topic,
    onPartitions: grow,
  });
  grow(partitions);

  function grow(count: number): void {
    for (let partition = writers.length; partition < count; partition++) {
      const each = { partition, producer, codec, logger, onChange, end: 0n };
      // Keys spread over the partitions evenly, so each gets an equal part of the memory.
      const pendingBytesMax = Math.ceil((2 * LOG_PENDING_BYTES_MAX) / count);
      writers.push(new PartitionWriter({ ...each, metrics: shared, pendingBytesMax }));
    }
    onChange();
  }

  return {
    /**
     * Appends a record to the partition that its key chooses. Resolves once all in-sync replicas
     * have the record, or rejects with `LogUnavailable`. Records with the same key keep their order
     * while no partitions are added.
     */
    append: (record: T, key: number) => writers[key % writers.length]!.append(record),
    /**
     * Appends the records of one request, each to the partition that its key in `keys` chooses. If
     * one of these partitions accepts no records at the moment, appends none and rejects with
     * `LogUnavailable`.
     */
    appendAll(records: readonly T[], keys: readonly number[]) {
      const appended = appendTogether(writers, records, keys);
      if (appended.refusal === undefined) return appended.stored;
      shared.rejected.inc(records.length);
      return Promise.reject(new LogUnavailable(appended.refusal));
    },
    /**
     * Returns how many partitions stored the last block that this process sent to them. Also
     * returns how many did not, with the reasons. A partition to which this process has sent no
     * block is in neither number.
     */
    health,
    /** Sends the waiting records, then closes the connections to the brokers. */
    async close() {
      await Promise.all(writers.map((writer) => writer.close()));
      await clients.close();
    },
  };
}

type Writer<T> = Pick<PartitionWriter<T>, "appendAll" | "refusal">;

/**
 * Appends the records of one request to the partitions that their keys choose. `stored` resolves
 * when all records are durable. If one of the partitions accepts no records, appends none and
 * returns the reason as `refusal`.
 */
export function appendTogether<T>(
  writers: readonly Writer<T>[],
  records: readonly T[],
  keys: readonly number[],
): { stored: Promise<void>; refusal?: undefined } | { refusal: string } {
  const byWriter = Map.groupBy(records.keys(), (at) => writers[keys[at]! % writers.length]!);
  for (const writer of byWriter.keys()) {
    const refusal = writer.refusal();
    if (refusal !== undefined) return { refusal };
  }
  const parts = [...byWriter].map(([writer, ats]) =>
    writer.appendAll(ats.map((at) => records[at]!)),
  );
  return { stored: parts.length === 1 ? parts[0]! : Promise.all(parts).then(() => {}) };
}
