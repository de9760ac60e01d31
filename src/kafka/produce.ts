import type { MessageRecord } from "@platformatic/kafka";
import type { KafkaLibrary } from "./library.ts";
import type { ProducerId } from "./partition-queue.ts";

export type Message = Pick<MessageRecord, "key" | "value" | "headers" | "timestamp">;

/** Batch of messages that are written to one partition. */
export interface PartitionMessages {
  topic: string;
  partition: number;
  /**
   * Sequence number of the first message. The idempotent producer numbers the messages of each
   * partition.
   */
  sequence: number;
  messages: readonly Message[];
}

export interface ProduceRequest {
  producerId: ProducerId;
  batches: readonly PartitionMessages[];
  /** Longest time in milliseconds that the leader waits for its replicas. */
  waitMs: number;
  compression?: "none" | "gzip";
}

/** Response of a broker about the batch for one partition. */
export interface PartitionResponse {
  topic: string;
  index: number;
  errorCode: number;
  errorMessage?: string | null | undefined;
  recordErrors?: { batchIndex: number; batchIndexErrorMessage: string | null }[];
  /** Offset of the first message in the batch. */
  baseOffset: bigint;
}

type Produce = KafkaLibrary["produceV11"]["api"]["async"];
type WithoutConnection<A> = A extends [unknown, ...infer Rest] ? Rest : never;

interface ProduceResponse {
  responses: { name: string; partitionResponses: Omit<PartitionResponse, "topic">[] }[];
}

/**
 * Sends batches with one producer id to a leader. Resolves once all in-sync replicas have the
 * accepted batches. The response to a refused batch has an error code. `request` must send the
 * arguments that the Kafka library passes to it over a connection to the leader.
 */
export async function produce(
  { NumericMap, ProduceAcks, ResponseError }: KafkaLibrary,
  { producerId, batches, waitMs, compression = "none" }: ProduceRequest,
  request: (...args: WithoutConnection<Parameters<Produce>>) => ReturnType<Produce>,
): Promise<PartitionResponse[]> {
  const sequences = new NumericMap(
    batches.map(({ topic, partition, sequence }) => [`${topic}:${partition}`, sequence]),
  );
  const messages = batches.flatMap(({ topic, partition, messages }) =>
    messages.map((message) => ({ ...message, topic, partition })),
  );
  const options = { compression, ...producerId, sequences };
  const response = await request(ProduceAcks.ALL, waitMs, messages, options).catch((error) => {
    // An error of one partition comes with the responses for all others.
    if (error instanceof ResponseError) return error.response;
    throw error;
  });
  const { responses } = response as ProduceResponse;
  return responses.flatMap(({ name, partitionResponses }) =>
    partitionResponses.map((response) => ({ ...response, topic: name })),
  );
}
