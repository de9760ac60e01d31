import type { Connection, Writer } from "@platformatic/kafka";
import type { KafkaProtocol } from "./library.ts";
import { type BatchRecord, type RecordBatchOptions, recordBatch } from "./record-batch.ts";

/** Batch of messages that are written to one partition. */
export interface PartitionMessages {
  topic: string;
  partition: number;
  /**
   * Sequence number of the batch's first message. The idempotent producer numbers the messages of
   * each partition separately.
   */
  sequence: number;
  messages: readonly BatchRecord[];
  /**
   * Whether the batch was sent before. A broker that has already stored the batch does not append
   * it again, and responds with the offset and the time of the first append.
   */
  isRepeated?: boolean;
}

/** Batches of one producer id that are sent to one broker. */
export interface ProduceRequest extends Omit<RecordBatchOptions, "sequence"> {
  batches: readonly PartitionMessages[];
  /** Longest time in milliseconds that the leader waits for its replicas to confirm a batch. */
  waitMs: number;
}

/** Response of a broker about the batch for one partition. */
export interface PartitionResponse {
  topic: string;
  index: number;
  errorCode: number;
  errorMessage?: string | null | undefined;
  recordErrors?: { batchIndex: number; batchIndexErrorMessage: string | null | undefined }[];
  /** Offset of the first message in the batch. */
  baseOffset: bigint;
  /**
   * Time at which the broker appended the batch, by the broker's clock, in milliseconds since the
   * epoch; -1 if the topic does not use `LogAppendTime`. For a batch that the broker already had,
   * the time stored with that batch, even if the topic does not use `LogAppendTime`.
   */
  logAppendTimeMs?: bigint;
}

type ProduceApi = KafkaProtocol["produceV11"]["api"];

type ProduceResponse = Exclude<Awaited<ReturnType<ProduceApi["async"]>>, boolean>;

/** First version of Kafka's produce request that has compact strings and arrays. */
const COMPACT_VERSION = 9;

/**
 * Sends batches of one producer id in one request to the broker that leads their partitions; `api`
 * is the library's function for the request's version. Resolves with a response for each batch once
 * all in-sync replicas have stored the accepted batches. The response for a refused batch has an
 * error code.
 */
export async function produce(
  kafka: KafkaProtocol,
  api: ProduceApi,
  connection: Connection,
  { batches, waitMs, ...common }: ProduceRequest,
): Promise<PartitionResponse[]> {
  const encoded = await Promise.all(
    batches.map(async ({ topic, partition, sequence, messages }) => {
      const bytes = await recordBatch(kafka, messages, { ...common, sequence });
      return { topic, partition, bytes };
    }),
  );
  // The library sends the request and reads the response. Only the encoding of the request is not
  // the library's.
  const withRequest: Pick<Connection, "send"> = {
    send: (key, version, _make, ...rest) =>
      connection.send(key, version, () => requestOf(kafka, version, encoded, waitMs), ...rest),
  };
  const over = withRequest as Connection;
  const response = await api.async(over, kafka.ProduceAcks.ALL, waitMs, [], {}).catch((error) => {
    // The library throws if one partition has an error code. The thrown error contains the whole
    // response, with the results for all partitions.
    if (error instanceof kafka.ResponseError) return error.response;
    throw error;
  });
  const { responses } = response as ProduceResponse;
  return responses.flatMap(({ name, partitionResponses }) =>
    partitionResponses.map((response) => ({ ...response, topic: name })),
  );
}

function requestOf(
  { ProduceAcks, Writer }: KafkaProtocol,
  version: number,
  batches: readonly { topic: string; partition: number; bytes: Buffer }[],
  waitMs: number,
): Writer {
  const isCompact = version >= COMPACT_VERSION;
  const topics = [...Map.groupBy(batches, ({ topic }) => topic)];
  const writer = Writer.create();
  const form = [isCompact, isCompact] as const;
  // The transactional id: none, because the producer does not use transactions.
  writer.appendString(null, isCompact);
  writer.appendInt16(ProduceAcks.ALL).appendInt32(waitMs);
  const appendPartition = (_: Writer, { partition, bytes }: (typeof batches)[number]) =>
    writer.appendInt32(partition).appendBytes(bytes, isCompact);
  const appendTopic = (_: Writer, [topic, partitions]: (typeof topics)[number]) =>
    writer.appendString(topic, isCompact).appendArray(partitions, appendPartition, ...form);
  writer.appendArray(topics, appendTopic, ...form);
  return isCompact ? writer.appendTaggedFields() : writer;
}
