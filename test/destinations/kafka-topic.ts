import type { KafkaClients } from "../../src/kafka/client.ts";

/** A record as another client reads it. */
export interface Read {
  partition: number;
  key: string | undefined;
  headers: Record<string, string>;
  value: unknown;
  timestamp: number;
}

const READ_BYTES = 4 << 20;
/** Attribute bit of a batch with LogAppendTime timestamps. */
const LOG_APPEND_TIME = 1 << 3;

/** All records of a topic, in the order of each partition. */
export async function readTopic(clients: KafkaClients, topic: string): Promise<Read[]> {
  const consumer = clients.fetchConsumer();
  const ends = (await consumer.listOffsets({ topics: [topic], timestamp: -1n })).get(topic) ?? [];
  const found = (await consumer.metadata({ topics: [topic] })).topics.get(topic)!;
  const all: Read[] = [];
  for (const [partition, end] of ends.entries()) {
    for (let offset = 0n; offset < end; ) {
      const of = { partition, fetchOffset: offset, partitionMaxBytes: READ_BYTES };
      const epochs = { currentLeaderEpoch: -1, lastFetchedEpoch: -1 };
      const { responses } = await consumer.fetch({
        ...{ node: found.partitions[partition]!.leader, maxWaitTime: 500, minBytes: 1 },
        ...{
          maxBytes: READ_BYTES,
          topics: [{ topicId: found.id, partitions: [{ ...of, ...epochs }] }],
        },
      });
      const batches = responses.flatMap((it) => it.partitions).flatMap((it) => it.records ?? []);
      for (const { firstOffset, firstTimestamp, maxTimestamp, attributes, records } of batches) {
        const isOfBroker = (attributes & LOG_APPEND_TIME) !== 0;
        for (const { offsetDelta, timestampDelta, key, value, headers } of records) {
          if (firstOffset + BigInt(offsetDelta) < offset) continue;
          offset = firstOffset + BigInt(offsetDelta) + 1n;
          all.push({
            partition,
            key: key?.toString(),
            headers: Object.fromEntries(
              headers.map(([name, text]) => [String(name), String(text)]),
            ),
            value: JSON.parse(String(value)),
            timestamp: Number(isOfBroker ? maxTimestamp : firstTimestamp + timestampDelta),
          });
        }
      }
    }
  }
  await consumer.close(true);
  return all;
}
