import { boundConnections } from "./bounded-connections.ts";
import { boundDecompression } from "./bounded-decompression.ts";
import { BoundedReader } from "./bounded-reader.ts";

export type KafkaLibrary = typeof import("@platformatic/kafka");

/**
 * Whether the Kafka library's prototypes were changed. They are changed once, because the process
 * has one copy of the library.
 */
let isBounded = false;

/**
 * Loads the Kafka library, and bounds its decoding, connections and decompression, so that bytes
 * from a broker cost time and memory in proportion to their number. The library creates its
 * decoders itself, so its prototypes are changed. All code must load the library with this
 * function. Loading takes a third of a second and 20 to 76 MB.
 */
export async function loadKafkaLibrary(): Promise<KafkaLibrary> {
  const kafka = await import("@platformatic/kafka");
  if (isBounded) return kafka;
  isBounded = true;
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(BoundedReader.prototype);
  Object.defineProperties(kafka.Reader.prototype, methods);
  boundConnections(kafka);
  boundDecompression(kafka.compressionsAlgorithmsByBitmask);
  return kafka;
}
