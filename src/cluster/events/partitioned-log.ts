import { type BrokerSettings, connectClients } from "../../kafka/client.ts";
import { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import type { LogWriter, RecordCodec } from "../../log/event-log.ts";
import { writerMetrics } from "../../log/metrics.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { LOG_PENDING_BYTES_MAX } from "../../settings/limits.ts";
import { openPartitionWriter } from "./partition-writer.ts";

/** Which partitions are written, as JSON. */
export interface PartitionedLogSettings {
  brokers: BrokerSettings;
  topic: string;
  /** How many partitions the topic has; those that are added later are seen. */
  partitions: number;
}

export interface PartitionedLogParts<T> {
  codec: RecordCodec<T>;
  logger: Logger;
  metrics: Metrics;
  /** Is called when `healthy` may have changed. */
  onHealth(healthy: boolean): void;
}

/** All partitions of a topic as one log for appending. */
export interface PartitionedLog<T> {
  /** Settles as `LogWriter.append` does. Records with one key keep their order. */
  append(record: T, key: number): Promise<void>;
  /** Whether some partition takes records. */
  healthy(): boolean;
  /** Flushes the records that wait, then closes. */
  close(): Promise<void>;
}

/**
 * Opens a topic for appending. The brokers need not be there: until they are, records are refused.
 */
export async function openPartitionedLog<T>(
  { brokers, topic, partitions }: PartitionedLogSettings,
  { codec, logger, metrics, onHealth }: PartitionedLogParts<T>,
): Promise<PartitionedLog<T>> {
  const clients = await connectClients(brokers);
  const { healthy: share, ...shared } = writerMetrics(metrics);
  const writers: LogWriter<T>[] = [];
  const healthy = () => writers.some((writer) => writer.healthy());
  const onChange = () => {
    share.set(writers.filter((writer) => writer.healthy()).length / writers.length);
    onHealth(healthy());
  };
  const producer = new IdempotentProducer({
    producer: clients.producer(),
    topic,
    onPartitions: grow,
  });
  grow(partitions);

  function grow(count: number): void {
    for (let partition = writers.length; partition < count; partition++) {
      const each = { partition, producer, codec, logger, onChange, end: 0n };
      // Keys spread over the partitions, and so does the memory for what waits.
      const pendingBytesMax = Math.ceil((2 * LOG_PENDING_BYTES_MAX) / count);
      writers.push(openPartitionWriter({ ...each, metrics: shared, pendingBytesMax }));
    }
    onChange();
  }

  return {
    append: (record, key) => writers[key % writers.length]!.append(record),
    healthy,
    async close() {
      await Promise.all(writers.map((writer) => writer.close()));
      await clients.close();
    },
  };
}
