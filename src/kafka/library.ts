import { boundConnections } from "./bounded-connections.ts";
import { boundDecompression } from "./bounded-decompression.ts";
import { BoundedReader } from "./bounded-reader.ts";

export type KafkaLibrary = typeof import("@platformatic/kafka");

/** The part of the Kafka library that encodes requests and decodes answers, without its clients. */
export type KafkaProtocol = Awaited<ReturnType<typeof importProtocol>>;

let protocol: Promise<KafkaProtocol> | undefined;
/**
 * Whether the connections of the Kafka library were changed. They are changed once, because the
 * process has one copy of the library.
 */
let hasBoundConnections = false;

/**
 * Loads the part of the Kafka library that encodes requests and decodes answers, and bounds its
 * decoding and decompression, so that bytes from a broker cost time and memory in proportion to
 * their number. The library creates its decoders itself, so its prototypes are changed. All code
 * must load the library with the functions of this file.
 */
export function loadKafkaProtocol(): Promise<KafkaProtocol> {
  protocol ??= importProtocol().then((kafka) => {
    const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(
      BoundedReader.prototype,
    );
    Object.defineProperties(kafka.Reader.prototype, methods);
    boundDecompression(kafka.compressionsAlgorithmsByBitmask);
    return kafka;
  });
  return protocol;
}

/**
 * Imports the files of the library below its clients. The clients compile the schemas of their
 * options when they are imported, which takes four fifths of the CPU of the whole import, 0.4 s.
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

/** Loads the whole Kafka library, and bounds it as `loadKafkaProtocol` does, and its connections. */
export async function loadKafkaLibrary(): Promise<KafkaLibrary> {
  await loadKafkaProtocol();
  const kafka = await import("@platformatic/kafka");
  if (!hasBoundConnections) boundConnections(kafka);
  hasBoundConnections = true;
  return kafka;
}
