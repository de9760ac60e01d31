import { type BrokerSettings, connectClients } from "../../kafka/client.ts";
import { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import type { LogHealth, RecordCodec } from "../../log/event-log.ts";
import { writerMetrics } from "../../log/metrics.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { LOG_PENDING_BYTES_MAX } from "../../settings/limits.ts";
import { openPartitionWriter, type PartitionWriter } from "./partition-writer.ts";
import { describePartitionFaults } from "./write-faults.ts";

/**
 * Settings with which a process opens a topic to append events to its partitions. The server passes
 * them to ingest processes, which accept pixels, as JSON.
 */
export interface PartitionedLogSettings {
  brokers: BrokerSettings;
  topic: string;
  /**
   * Number of partitions when the settings were made. The log also uses partitions that are added
   * later.
   */
  partitions: number;
}

export interface PartitionedLogParts<T> {
  codec: RecordCodec<T>;
  logger: Logger;
  metrics: Metrics;
  /** Called with the current value of `health` when it may have changed. */
  onHealth(health: LogHealth): void;
}

/** Log that appends each record to one of the partitions of a topic. */
export interface PartitionedLog<T> {
  /**
   * Appends a record, and resolves once all in-sync replicas have it. Rejects with `LogUnavailable`
   * when the brokers do not acknowledge it. Records with the same key go to one partition, in
   * order.
   */
  append(record: T, key: number): Promise<void>;
  /** Returns which partitions accept records, and why the others do not. */
  health(): LogHealth;
  /** Sends the waiting records, then closes the log. */
  close(): Promise<void>;
}

/**
 * Opens a topic for appending. Opening succeeds even when no broker can be reached. `append` then
 * rejects until a broker answers.
 */
export async function openPartitionedLog<T>(
  { brokers, topic, partitions }: PartitionedLogSettings,
  { codec, logger, metrics, onHealth }: PartitionedLogParts<T>,
): Promise<PartitionedLog<T>> {
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
      writers.push(openPartitionWriter({ ...each, metrics: shared, pendingBytesMax }));
    }
    onChange();
  }

  return {
    append: (record, key) => writers[key % writers.length]!.append(record),
    health,
    async close() {
      await Promise.all(writers.map((writer) => writer.close()));
      await clients.close();
    },
  };
}
