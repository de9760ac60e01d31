import type { Broker, Callback, Connection, Producer } from "@platformatic/kafka";
import { InvariantError } from "../assert.ts";
import type { ProducerId } from "./partition-queue.ts";
import {
  type KafkaLibrary,
  type PartitionMessages,
  type PartitionResponse,
  type ProduceRequest,
  produce,
} from "./produce.ts";

/** Sends produce requests to partition leaders, without retries. */
export interface ProduceClient {
  /** Requests the broker id of each partition's leader; negative when there is none. */
  leaders(topic: string): Promise<number[]>;
  /** Requests a new producer id; its sequence numbers begin at 0 in each partition. */
  initProducerId(): Promise<ProducerId>;
  /**
   * Sends one request to the leader with this broker id. Resolves once all in-sync replicas have
   * the batches that the leader accepted; a refused batch has an error code in its response.
   */
  produce(
    leader: number,
    producerId: ProducerId,
    batches: readonly PartitionMessages[],
  ): Promise<PartitionResponse[]>;
  /** Converts the error code of a response to an error. */
  errorOf(response: PartitionResponse): Error;
  /** Classifies an error by how the producer must react to it. */
  classify(error: unknown): SendErrorClass;
}

/**
 * Reaction to a failed batch. `retry`: send it again unchanged. `producer-id`: send its records
 * again under a new producer id, because the broker does not know the id. `fatal`: reject them.
 */
export type SendErrorClass = "retry" | "producer-id" | "fatal";

/**
 * Creates a client that uses the connections of the library's `producer`. A leader waits up to
 * `waitMs` milliseconds for its replicas.
 */
export function createProduceClient(
  kafka: KafkaLibrary,
  producer: Producer,
  waitMs: number,
): ProduceClient {
  let brokers: Map<number, Broker> = new Map();
  return {
    async leaders(topic) {
      const metadata = await producer.metadata({ topics: [topic], forceUpdate: true });
      brokers = metadata.brokers;
      return metadata.topics.get(topic)?.partitions.map(({ leader }) => leader) ?? [];
    },
    initProducerId: () => producer.initIdempotentProducer({}),
    async produce(leader, producerId, batches) {
      // The pool refuses an unknown broker with its own error.
      const connection = await promised<Connection>((done) => {
        producer.connections.get(brokers.get(leader)!, done);
      });
      // The newest version that the broker and the library know.
      const api = await promised<ProduceApi>((done) => producer[kafka.kGetApi]("Produce", done));
      const request: ProduceRequest = { producerId, batches, waitMs };
      return await produce(kafka, request, (...args) => api.async(connection, ...args));
    },
    errorOf: ({ errorCode, errorMessage }) => new kafka.ProtocolError(errorCode, errorMessage),
    classify(error) {
      if (error instanceof InvariantError) return "fatal";
      const { apiId } = error as { apiId?: string };
      if (apiId !== undefined && producerIdErrors.has(apiId)) return "producer-id";
      return kafka.findErrorBy(error as Error, "canRetry", false) === null ? "retry" : "fatal";
    },
  };
}

type ProduceApi = KafkaLibrary["produceV11"]["api"];

const producerIdErrors = new Set(["UNKNOWN_PRODUCER_ID", "OUT_OF_ORDER_SEQUENCE_NUMBER"]);

function promised<T>(start: (done: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, found) => (error ? reject(error) : resolve(found as T)));
  });
}
