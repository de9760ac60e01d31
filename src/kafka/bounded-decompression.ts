import { constants } from "node:buffer";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { KafkaAnswerError } from "./bounded-reader.ts";
import { decompressLz4, decompressSnappy } from "./copy-compression.ts";

/** Compression algorithms of the Kafka library, by the algorithm's number in a record batch. */
type Algorithms = Record<number, { decompressSync: (data: Buffer) => Buffer }>;

/**
 * Constant part of the maximum decompressed size of one response, in bytes; `OUTPUT_RATIO_MAX`
 * times the response's size is added. The sum suffices, because pixelmill compresses no batch to
 * less than a hundredth of its size.
 */
const OUTPUT_BYTES_BASE = 16 << 20;
const OUTPUT_RATIO_MAX = 200;

/**
 * Number of bytes that the decompression of the current response may still produce. One variable
 * suffices, because a response is decoded synchronously.
 */
let bytesLeft = OUTPUT_BYTES_BASE;

/**
 * Sets the decompression bound for a response of `answerBytes` bytes. Called before the response is
 * decoded.
 */
export function allowDecompression(answerBytes: number): void {
  bytesLeft = OUTPUT_BYTES_BASE + OUTPUT_RATIO_MAX * answerBytes;
}

/**
 * Replaces the decompression functions of the Kafka library, whose output has no size limit, by
 * functions that throw `KafkaAnswerError` when the output exceeds the maximum from
 * `allowDecompression`.
 */
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
      // The system's functions refuse a bound beyond the longest buffer.
      const output = decompress(data, Math.min(bytesLeft, constants.MAX_LENGTH));
      bytesLeft -= output.length;
      return output;
    };
  }
}
