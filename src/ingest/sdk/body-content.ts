import { gunzipSync } from "node:zlib";
import type { HttpExchange } from "../../http/exchange.ts";
import { SDK_BODY_BYTES_MAX } from "../../settings/limits.ts";

/** Why the body of a request is refused: the status of the response and a sentence. */
export interface ContentProblem {
  status: 400 | 413 | 415;
  problem: string;
}

/**
 * Returns the body of an SDK request, decompressed. Decompression stops at `SDK_BODY_BYTES_MAX`, so
 * that a small body costs neither memory nor time beyond it.
 */
export function bodyContent(
  exchange: Pick<HttpExchange, "header" | "body">,
): Buffer | ContentProblem {
  const coding = exchange.header("content-encoding")?.toLowerCase() ?? "";
  if (coding === "" || coding === "identity") return exchange.body();
  if (coding !== "gzip" && coding !== "x-gzip") {
    return { status: 415, problem: "Expected the Content-Encoding gzip or none" };
  }
  try {
    const body = exchange.body();
    return gunzipSync(body, { maxOutputLength: SDK_BODY_BYTES_MAX, chunkSize: chunkSizeOf(body) });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? tooLarge : noGzip;
  }
}

/** Size in bytes of the data that a gzip header and trailer take at least. */
const GZIP_FRAME_BYTES = 18;
const CHUNK_BYTES_MIN = 16_384;

/**
 * Returns the size of the buffers into which data is decompressed: the size that the trailer of the
 * gzip data states, so that one buffer has all of it. The statement may be false, so the size has
 * bounds.
 */
function chunkSizeOf(gzip: Buffer): number {
  if (gzip.length < GZIP_FRAME_BYTES) return CHUNK_BYTES_MIN;
  const stated = gzip.readUInt32LE(gzip.length - 4);
  // With a few bytes more, zlib finds the end of the data without another buffer.
  return Math.min(SDK_BODY_BYTES_MAX, Math.max(CHUNK_BYTES_MIN, stated + 64));
}

const tooLarge: ContentProblem = {
  status: 413,
  problem: `Expected a body of at most ${SDK_BODY_BYTES_MAX} bytes after decompression`,
};
const noGzip: ContentProblem = {
  status: 400,
  problem: "Expected a body that is complete gzip data",
};
