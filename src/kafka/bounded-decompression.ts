import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { KafkaAnswerError } from "./bounded-reader.ts";
import { decompressLz4, decompressSnappy } from "./copy-compression.ts";

/** Algorithms of the library, by their number in a batch of records. */
type Algorithms = Record<number, { decompressSync: (data: Buffer) => Buffer }>;

/**
 * Most bytes that the batches of one answer may become: a batch of our own has at most 2 MiB, and
 * events compress to about a hundredth.
 */
const OUTPUT_BYTES_MIN = 16 << 20;
const OUTPUT_RATIO_MAX = 200;

/** Bytes that the batches of the answer being read may still become. Reading does not wait. */
let bytesLeft = OUTPUT_BYTES_MIN;

/** Begins an answer of this many bytes. */
export function allowDecompression(answerBytes: number): void {
  bytesLeft = OUTPUT_BYTES_MIN + OUTPUT_RATIO_MAX * answerBytes;
}

/** Replaces the decompression of the library, which makes as many bytes as the data asks for. */
export function boundDecompression(algorithms: Algorithms): void {
  const bounded: Record<number, (data: Buffer, bytesMax: number) => Buffer> = {
    1: (data, maxOutputLength) => gunzipSync(data, { maxOutputLength }),
    2: decompressSnappy,
    3: decompressLz4,
    4: (data, maxOutputLength) => zstdDecompressSync(data, { maxOutputLength }),
  };
  for (const [number, decompress] of Object.entries(bounded)) {
    algorithms[Number(number)]!.decompressSync = (data) => {
      if (bytesLeft <= 0) throw new KafkaAnswerError("Expected fewer compressed records");
      const output = decompress(data, bytesLeft);
      bytesLeft -= output.length;
      return output;
    };
  }
}
