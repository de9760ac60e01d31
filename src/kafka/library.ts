import type { Base, Connection } from "@platformatic/kafka";
import { recentResult } from "../observe/recent-result.ts";
import { boundConnections } from "./bounded-connections.ts";
import { boundDecompression } from "./bounded-decompression.ts";
import { BoundedReader } from "./bounded-reader.ts";

export type KafkaLibrary = typeof import("@platformatic/kafka");

/** Part of the Kafka library that encodes requests and decodes responses, without its clients. */
export type KafkaProtocol = Awaited<ReturnType<typeof importProtocol>>;

/** A broker's response to a metadata request: brokers, topics and partition leaders. */
export type MetadataAnswer = Awaited<ReturnType<KafkaProtocol["metadataV12"]["api"]["async"]>>;

/**
 * Loads the part of the Kafka library that encodes requests and decodes responses. Bounds its
 * decoding and decompression: the time and memory that they take grow only in proportion to the
 * bytes from a broker. The bounds are set on the library's prototypes, because the library creates
 * its decoders itself. All code must load the library with the functions of this file.
 */
export const loadKafkaProtocol = recentResult(Number.POSITIVE_INFINITY, async () => {
  const kafka = await importProtocol();
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(BoundedReader.prototype);
  Object.defineProperties(kafka.Reader.prototype, methods);
  boundDecompression(kafka.compressionsAlgorithmsByBitmask);
  return kafka;
});

/**
 * Imports the Kafka library's protocol files without its clients. The clients compile the schemas
 * of their options on import, which takes four fifths of the 0.4 s of CPU time of the whole import.
 */
async function importProtocol() {
  const [wire, apis, errors, groups] = await Promise.all([
    import("../../node_modules/@platformatic/kafka/dist/protocol/index.js"),
    import("../../node_modules/@platformatic/kafka/dist/apis/index.js"),
    import("../../node_modules/@platformatic/kafka/dist/errors.js"),
    import("../../node_modules/@platformatic/kafka/dist/clients/consumer/consumer-protocol.js"),
  ]);
  return { ...wire, ...apis, ...errors, ...groups };
}

/** Loads the whole Kafka library. Bounds its decoding (see `loadKafkaProtocol`) and connections. */
export const loadKafkaLibrary = recentResult(
  Number.POSITIVE_INFINITY,
  async (): Promise<KafkaLibrary> => {
    await loadKafkaProtocol();
    const kafka = await import("@platformatic/kafka");
    boundConnections(kafka);
    return kafka;
  },
);

type Callback<T> = (error: Error | null, result?: T) => void;
type Api = (...args: unknown[]) => void;
/** Methods of the Kafka library's clients that its classes do not declare as public. */
type Internals = Record<symbol, (...args: unknown[]) => void>;

/**
 * Sends a request to a bootstrap broker of `client`. `name` is the request's name in Kafka's
 * protocol. Rejects with the Kafka library's error.
 */
export function requestBroker<T>(
  { kGetApi, kGetBootstrapConnection }: KafkaLibrary,
  client: Base,
  name: string,
  args: readonly unknown[],
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const internals = client as unknown as Internals;
  const answer: Callback<T> = (error, result) => (error ? reject(error) : resolve(result!));
  const call = (connection: Connection): Callback<Api> => {
    return (error, api) => (error ? reject(error) : api!(connection, ...args, answer));
  };
  const connected: Callback<Connection> = (error, connection) => {
    if (error) reject(error);
    else internals[kGetApi]!(name, call(connection!));
  };
  internals[kGetBootstrapConnection]!(connected);
  return promise;
}

/**
 * Asks a bootstrap broker of `client` for metadata. The answer may have error codes for some topics
 * and partitions.
 */
export async function requestMetadata(
  kafka: KafkaLibrary,
  client: Base,
  topics: readonly string[],
): Promise<MetadataAnswer> {
  try {
    return await requestBroker(kafka, client, "Metadata", [topics, false, false]);
  } catch (error) {
    if (error instanceof kafka.ResponseError) return error.response as MetadataAnswer;
    throw error;
  }
}
