import type { API, Base, Callback, Connection } from "@platformatic/kafka";
import { recentResult } from "../observe/recent-result.ts";
import { boundConnections } from "./bounded-connections.ts";
import { boundDecompression } from "./bounded-decompression.ts";
import { BoundedReader } from "./bounded-reader.ts";

export type KafkaLibrary = typeof import("@platformatic/kafka");

/** The Kafka library without its clients: encodes requests, and decodes responses. */
export type KafkaProtocol = Awaited<ReturnType<typeof importProtocol>>;

/** A broker's response to a metadata request: brokers, topics and partition leaders. */
export type MetadataAnswer = Awaited<ReturnType<KafkaProtocol["metadataV12"]["api"]["async"]>>;

/**
 * Loads the part of the Kafka library that encodes requests and decodes responses, and limits the
 * time and memory of decoding. All code must load the library with the functions of this file,
 * because they set these limits.
 */
export const loadKafkaProtocol = recentResult(Number.POSITIVE_INFINITY, async () => {
  const kafka = await importProtocol();
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(BoundedReader.prototype);
  Object.defineProperties(kafka.Reader.prototype, methods);
  boundDecompression(kafka.compressionsAlgorithmsByBitmask);
  return kafka;
});

/**
 * Imports the protocol files of the Kafka library without its clients. Importing the whole library
 * takes 0.4 s of CPU time, four fifths of it to compile the schemas of the clients' options.
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

/**
 * Loads the whole Kafka library. Limits what it decodes (see `loadKafkaProtocol`), and makes its
 * connections check responses (see `boundConnections`).
 */
export const loadKafkaLibrary = recentResult(Number.POSITIVE_INFINITY, async () => {
  await loadKafkaProtocol();
  const kafka: KafkaLibrary = await import("@platformatic/kafka");
  boundConnections(kafka);
  return kafka;
});

/** Function of the Kafka library that sends all requests of one type (API), such as `Metadata`. */
type Api = API<unknown[], unknown>;

/**
 * Makes a client of the Kafka library pass the requests named in `names` to `send` instead of to a
 * broker. `send` must call `answer` exactly once, with the response or the error. `api(...args,
 * answer)` sends the request.
 */
export function interceptRequests(
  kafka: Pick<KafkaLibrary, "kGetApi">,
  client: Base,
  names: ReadonlySet<string>,
  send: (api: Api, args: [Connection, ...unknown[]], answer: Callback<unknown>) => void,
): void {
  const getApi = client[kafka.kGetApi].bind(client) as GetApi;
  const getIntercepted: GetApi = (name, callback) => {
    getApi(name, (error, api) => {
      if (api === undefined || !names.has(name)) {
        callback(error, api);
        return;
      }
      const { key, version } = api;
      const intercepted = (...args: [Connection, ...unknown[]]) => {
        const answer = args.pop() as Callback<unknown>;
        send(api, args, answer);
      };
      callback(error, Object.assign(intercepted, { key, version }) as Api);
    });
  };
  Object.assign(client, { [kafka.kGetApi]: getIntercepted });
}

type GetApi = (name: string, callback: Callback<Api>) => void;

/**
 * Calls `start` with a callback `done`. Returns a promise that settles with the result or the error
 * with which `done` is called.
 */
export function promised<T>(start: (done: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, found) => (error ? reject(error) : resolve(found as T)));
  });
}

/**
 * Sends a request to a bootstrap broker of `client`, and returns the response. `name` is the
 * request's name in Kafka's protocol. Rejects with the Kafka library's error.
 */
export async function requestBroker<T>(
  kafka: KafkaLibrary,
  client: Base,
  name: string,
  args: readonly unknown[],
): Promise<T> {
  const connection = await promised<Connection>((done) =>
    client[kafka.kGetBootstrapConnection](done),
  );
  const api = await promised<API<unknown[], T>>((done) => client[kafka.kGetApi](name, done));
  return promised<T>((done) => api(connection, ...args, done));
}

/**
 * Requests the metadata of `topics` from a bootstrap broker of `client`. Returns the broker's
 * answer even if it has error codes for some topics and partitions.
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
