import { constants, createGunzip } from "node:zlib";
import type { HttpExchange } from "../../http/exchange.ts";
import { textMemory } from "../../json/text-memory.ts";
import { SDK_BODY_BYTES_MAX } from "../../settings/limits.ts";

/**
 * Why the body of a request is refused: status, error message and further headers of the response.
 */
interface ContentProblem {
  status: 400 | 413 | 415;
  problem: string;
  headers?: Record<string, string>;
}

/**
 * Returns the decompressed body of an SDK request, or why it is refused: an unknown coding, damaged
 * gzip data, or gzip data of more than `SDK_BODY_BYTES_MAX` decompressed bytes. The bytes are valid
 * until the next JSON text is scanned.
 */
export function bodyContent(
  exchange: Pick<HttpExchange, "header" | "body">,
): Buffer | ContentProblem {
  const coding = exchange.header("content-encoding")?.toLowerCase() ?? "";
  if (coding === "" || coding === "identity") return exchange.body();
  if (coding !== "gzip" && coding !== "x-gzip") return otherCoding;
  const content = inflate(exchange.body(), SDK_BODY_BYTES_MAX);
  if (content === "large") return tooLarge;
  return content === "damaged" ? noGzip : content;
}

const otherCoding: ContentProblem = {
  status: 415,
  problem: "Expected the Content-Encoding gzip or none",
  // This header tells the client that status 415 is about the coding, not about the media type
  // (RFC 9110 §15.5.16).
  headers: { "Accept-Encoding": "gzip" },
};
const tooLarge: ContentProblem = {
  status: 413,
  problem: `Expected a body of at most ${SDK_BODY_BYTES_MAX} bytes after decompression`,
};
const noGzip: ContentProblem = {
  status: 400,
  problem: "Expected a body that is complete gzip data",
};

/** Node's internal handle of a zlib stream. It keeps the state of a decompression between calls. */
interface ZlibHandle {
  reset(): void;
  writeSync(
    flush: number,
    from: Buffer,
    start: number,
    length: number,
    to: Buffer,
    end: number,
    room: number,
  ): void;
  onerror: () => void;
}

/** Minimum number of bytes of the header and the trailer of gzip data together. */
const GZIP_FRAME_BYTES = 18;
const MEMORY_BYTES_MIN = 16_384;
/**
 * Number of bytes by which the output buffer exceeds the expected size of the data. If the data
 * filled the buffer exactly, zlib would need another call to report the end of the data.
 */
const SLACK_BYTES = 64;

/**
 * Decompresses gzip data. Returns "large" if the decompressed data exceeds `bytesMax`, and
 * "damaged" if `gzip` is not complete gzip data. The result is valid until the next JSON text is
 * scanned.
 */
export function inflate(gzip: Buffer, bytesMax: number): Buffer | "large" | "damaged" {
  zlib ??= openZlib();
  const { handle, left } = zlib;
  const roomMax = bytesMax + SLACK_BYTES;
  let memory = textMemory(Math.min(roomMax, statedBytes(gzip) + SLACK_BYTES));
  let start = 0;
  let end = 0;
  zlib.hasFailed = false;
  handle.reset();
  for (;;) {
    const room = Math.min(roomMax, memory.length) - end;
    handle.writeSync(constants.Z_FINISH, gzip, start, gzip.length - start, memory, end, room);
    if (zlib.hasFailed) return "damaged";
    end += room - left[0]!;
    start = gzip.length - left[1]!;
    if (end > bytesMax) return "large";
    if (left[0]! > 0) return memory.subarray(0, end);
    memory = textMemory(Math.min(roomMax, 2 * memory.length));
  }
}

/**
 * Returns the size in bytes of the decompressed data that the gzip trailer states, but at least
 * `MEMORY_BYTES_MIN`. The stated size may be wrong.
 */
function statedBytes(gzip: Buffer): number {
  if (gzip.length < GZIP_FRAME_BYTES) return MEMORY_BYTES_MIN;
  return Math.max(MEMORY_BYTES_MIN, gzip.readUInt32LE(gzip.length - 4));
}

let zlib: ReturnType<typeof openZlib> | undefined;

/**
 * Opens the zlib stream with which all request bodies are decompressed. It uses internal members of
 * Node's stream, because `gunzipSync` would allocate a stream and buffers for each body.
 */
function openZlib() {
  const stream = createGunzip() as unknown as { _handle: ZlibHandle; _writeState: Uint32Array };
  const opened = {
    // The stream frees the handle when it is collected, so it is kept.
    stream,
    handle: stream._handle,
    /**
     * Numbers that `writeSync` sets: free bytes in the output buffer, and bytes of gzip data not
     * read yet.
     */
    left: stream._writeState,
    hasFailed: false,
  };
  stream._handle.onerror = () => {
    opened.hasFailed = true;
  };
  return opened;
}
