import type { Broker, Connection, Producer, Writer } from "@platformatic/kafka";
import type { ProducerId } from "./record-batch.ts";

/** A record batch, in pieces, for a partition. */
export interface EncodedBatch {
  partition: number;
  pieces: readonly Buffer[];
}

/** What a leader answers for a partition. */
export interface PartitionResponse {
  index: number;
  errorCode: number;
  errorMessage?: string | null | undefined;
  /** Of the batch's first record. */
  baseOffset: bigint;
}

/** Asks leaders to take record batches, each time once. */
export interface ProduceClient {
  /** The leader of each partition at the moment, negative where there is none. */
  leaders(topic: string): Promise<number[]>;
  /** A new identity, whose batches are numbered from 0 in each partition. */
  initProducerId(): Promise<ProducerId>;
  /** Answers once all replicas in sync have the batches that are not refused. */
  produce(
    leader: number,
    topic: string,
    batches: readonly EncodedBatch[],
  ): Promise<PartitionResponse[]>;
  /** The error that a code of an answer stands for. */
  errorOf(answer: PartitionResponse): Error;
  /** What this error means for a batch; without an answer, nobody knows whether the batch is there. */
  classify(error: unknown): SendErrorClass;
}

/** `identity`: the broker does not know the producer any more. */
export type SendErrorClass = "again" | "identity" | "refused";

type Kafka = typeof import("@platformatic/kafka");
type ProduceV11 = Kafka["produceV11"];

const PRODUCE = 0;
const ALL_IN_SYNC = -1;
/** From this version on, lengths are varints, and structures end with tags. */
const COMPACT_MIN = 9;

/**
 * Makes a client that writes requests itself: these carry few large values, for which the library's
 * `send` takes a third more CPU. Connections, versions and answers are the library's.
 */
export function createProduceClient(
  kafka: Kafka,
  producer: Producer,
  waitMs: number,
): ProduceClient {
  let brokers: Map<number, Broker> = new Map();
  let version: Promise<number> | undefined;
  const pickVersion = () =>
    promised<{ version: number }>((done) => producer[kafka.kGetApi]("Produce", done as never)).then(
      (api) => api.version,
    );
  return {
    async leaders(topic) {
      const metadata = await producer.metadata({ topics: [topic], forceUpdate: true });
      brokers = metadata.brokers;
      return metadata.topics.get(topic)?.partitions.map(({ leader }) => leader) ?? [];
    },
    initProducerId: () => producer.initIdempotentProducer({}),
    async produce(leader, topic, batches) {
      // The pool says what it is to have no such broker.
      const connection = await promised<Connection>((done) => {
        producer.connections.get(brokers.get(leader)!, done);
      });
      version ??= pickVersion();
      const picked = await version.catch((error) => {
        version = undefined;
        throw error;
      });
      const isCompact = picked >= COMPACT_MIN;
      const make = () => writeRequest(kafka.Writer.create(), { topic, batches, waitMs, isCompact });
      const { parseResponse } = kafka[`produceV${picked}` as "produceV11"];
      const answer = await promised<ReturnType<ProduceV11["parseResponse"]>>((done) => {
        connection.send(PRODUCE, picked, make, parseResponse, isCompact, isCompact, done);
      }).catch((error) => {
        // Also an answer that tells an error of one partition tells of the others.
        if (error instanceof kafka.ResponseError) return error.response as never;
        throw error;
      });
      return answer.responses.flatMap((it) => it.partitionResponses);
    },
    errorOf: ({ errorCode, errorMessage }) => new kafka.ProtocolError(errorCode, errorMessage),
    classify(error) {
      const { apiId } = error as { apiId?: string };
      if (apiId !== undefined && ofIdentity.has(apiId)) return "identity";
      return kafka.findErrorBy(error as Error, "canRetry", false) === null ? "again" : "refused";
    },
  };
}

const ofIdentity = new Set(["UNKNOWN_PRODUCER_ID", "OUT_OF_ORDER_SEQUENCE_NUMBER"]);

export interface ProduceRequest {
  topic: string;
  batches: readonly EncodedBatch[];
  waitMs: number;
  isCompact: boolean;
}

/** As kafka.apache.org/protocol#The_Messages_Produce tells: of no transaction, for one topic. */
export function writeRequest(
  writer: Writer,
  { topic, batches, waitMs, isCompact }: ProduceRequest,
): Writer {
  const arrayOf = <T>(all: readonly T[], write: (one: T) => void) =>
    writer.appendArray(all as T[], (_, one) => write(one), isCompact, isCompact);
  writer.appendString(null, isCompact).appendInt16(ALL_IN_SYNC).appendInt32(waitMs);
  arrayOf([topic], () => {
    writer.appendString(topic, isCompact);
    arrayOf(batches, ({ partition, pieces }) => {
      const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      writer.appendInt32(partition);
      if (isCompact) writer.appendUnsignedVarInt(bytes + 1);
      else writer.appendInt32(bytes);
      for (const piece of pieces) writer.append(piece);
    });
  });
  return isCompact ? writer.appendTaggedFields() : writer;
}

function promised<T>(start: (done: (error?: Error | null, found?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, found) => (error ? reject(error) : resolve(found!)));
  });
}
