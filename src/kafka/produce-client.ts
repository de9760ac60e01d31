import type { Connection, Producer } from "@platformatic/kafka";
import { InvariantError } from "../assert.ts";
import type { ClusterView } from "./cluster-view.ts";
import { type KafkaLibrary, promised } from "./library.ts";
import type { ProducerId } from "./partition-queue.ts";
import { type PartitionMessages, type PartitionResponse, produce } from "./produce.ts";
import type { Compression } from "./record-batch.ts";

/**
 * Reaction of a producer to a failed batch.
 *
 * - `retry`: sends the records again with the same producer id
 * - `producer-id`: sends the records again with a new producer id, because the broker does not
 *   accept the old one
 * - `fatal`: gives up the records and reports the error to their callers
 */
type SendErrorClass = "retry" | "producer-id" | "fatal";

/** Maximum age in milliseconds of a comparison with a broker's clock whose result is used. */
const FRESH_MS = 60_000;

/**
 * Compares the wall clocks of this process and a broker at writes to a topic with `LogAppendTime`.
 * The clocks differ if the broker's append time is before the request or after the response.
 */
export class BrokerClock {
  #errorMs = 0;
  #comparedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly elapsed: () => number = () => performance.now()) {}

  /**
   * Compares the clocks at one write. All times are in milliseconds since the epoch.
   *
   * - `sentAt`: time of the request, by this process's clock
   * - `appendedAt`: time at which the broker appended the records, by its clock
   * - `answeredAt`: time of the response, by this process's clock
   */
  note(sentAt: number, appendedAt: number, answeredAt: number): void {
    const ahead = Math.max(0, sentAt - appendedAt);
    const behind = Math.max(0, appendedAt - answeredAt);
    this.#errorMs = ahead - behind;
    this.#comparedAt = this.elapsed();
  }

  /**
   * Returns the smallest possible difference between the clocks in milliseconds: positive if this
   * process's clock is ahead, negative if it is behind, 0 if the clocks may agree. Returns
   * undefined without a comparison in the last `FRESH_MS`.
   */
  errorMs(): number | undefined {
    return this.elapsed() - this.#comparedAt < FRESH_MS ? this.#errorMs : undefined;
  }
}

interface ProduceClientOptions {
  view: Pick<ClusterView, "leaders" | "brokers">;
  /** Longest time in milliseconds that a leader waits for its replicas to acknowledge a batch. */
  waitMs: number;
  compression: Compression;
  /**
   * Compares this process's clock with the append times in the brokers' answers; absent if clocks
   * are not compared.
   */
  clock?: BrokerClock;
}

/** Sends produce requests to the leaders of partitions. It does not retry them. */
export type ProduceClient = ReturnType<typeof createProduceClient>;

/**
 * Creates a `ProduceClient` that sends over the connections of `producer` to the brokers in `view`.
 * Once a broker has refused the compression, later batches are uncompressed. Once a broker has
 * refused the time of records, later records have no time.
 */
export function createProduceClient(
  kafka: KafkaLibrary,
  producer: Producer,
  { view, waitMs, compression, clock }: ProduceClientOptions,
) {
  let accepted = compression;
  let hasTimes = true;
  return {
    /**
     * Returns the leader's broker id for each partition of a topic, in the order of the partitions;
     * negative for a partition without a leader. Returns undefined while the topic is unknown or no
     * broker answers.
     */
    leaders: (topic: string) => view.leaders(topic),
    /** Asks the brokers for the topic's current leaders; `leaders` then returns them. */
    async refreshLeaders(topic: string) {
      await producer.metadata({ topics: [topic], forceUpdate: true });
    },
    /**
     * Returns the address of the broker with the id `leader`; undefined if the brokers do not list
     * it.
     */
    addressOf(leader: number) {
      const broker = view.brokers.get(leader);
      return broker && `${broker.host}:${broker.port}`;
    },
    /** Requests a new producer id. For this id, sequence numbers begin at 0 in each partition. */
    initProducerId: (): Promise<ProducerId> => producer.initIdempotentProducer({}),
    /**
     * Sends all `batches` in one request to the broker with the id `leader`. Resolves with a
     * response for each batch once all in-sync replicas have stored the accepted batches. The
     * response for a refused batch has an error code.
     */
    async produce(leader: number, producerId: ProducerId, batches: readonly PartitionMessages[]) {
      // If the broker is unknown, the connection pool gets undefined and reports an error.
      const connection = await promised<Connection>((done) => {
        producer.connections.get(view.brokers.get(leader)!, done);
      });
      // Function for the newest version of the request that both broker and library know.
      const api = await promised<ProduceApi>((done) => producer[kafka.kGetApi]("Produce", done));
      const sentAt = Date.now();
      const timestamp = hasTimes ? sentAt : undefined;
      const request = { producerId, batches, waitMs, compression: accepted, timestamp };
      const responses = await produce(kafka, api, connection, request);
      if (responses.some(({ errorCode }) => errorCode === UNSUPPORTED_COMPRESSION_TYPE)) {
        accepted = "none";
      }
      if (responses.some(({ errorCode }) => errorCode === INVALID_TIMESTAMP)) hasTimes = false;
      // If the broker already had a batch, the response has the time of that batch's first append.
      // This time says nothing about the clocks now.
      const repeated = new Set(batches.flatMap((it) => (it.isRepeated ? [it.partition] : [])));
      const first = responses.find(({ index }) => !repeated.has(index));
      const { logAppendTimeMs = NO_TIME } = first ?? {};
      if (logAppendTimeMs > NO_TIME) clock?.note(sentAt, Number(logAppendTimeMs), Date.now());
      return responses;
    },
    /** Returns an error that describes the error code of a response. */
    errorOf: ({ errorCode, errorMessage }: PartitionResponse): Error =>
      new kafka.ProtocolError(errorCode, errorMessage),
    /** Returns how a producer must react to the error with which a batch failed. */
    classify(error: unknown): SendErrorClass {
      if (error instanceof InvariantError) return "fatal";
      const { apiId } = error as { apiId?: string };
      if (apiId !== undefined && producerIdErrors.has(apiId)) return "producer-id";
      // The batch is sent again without compression, or without times.
      if (apiId === "UNSUPPORTED_COMPRESSION_TYPE" || apiId === "INVALID_TIMESTAMP") return "retry";
      return kafka.findErrorBy(error as Error, "canRetry", false) === null ? "retry" : "fatal";
    },
  };
}

/** The append time that a response contains when the topic does not use `LogAppendTime`. */
const NO_TIME = -1n;

type ProduceApi = KafkaLibrary["produceV11"]["api"];

/** Kafka's error code for a batch whose compression the broker does not accept. */
const UNSUPPORTED_COMPRESSION_TYPE = 76;

/** Kafka's error code for a batch whose time is too far from the time of the broker's clock. */
const INVALID_TIMESTAMP = 32;

const producerIdErrors = new Set(["UNKNOWN_PRODUCER_ID", "OUT_OF_ORDER_SEQUENCE_NUMBER"]);
