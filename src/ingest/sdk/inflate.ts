import { constants, createGunzip } from "node:zlib";
import { textMemory } from "../../event/sdk/text-memory.ts";

/** The state of a decompression, which zlib keeps between calls. */
interface ZlibHandle {
  reset(): void;
  writeSync(
    flush: number,
    ...buffers: [
      from: Buffer,
      start: number,
      length: number,
      to: Buffer,
      start: number,
      room: number,
    ]
  ): void;
  onerror: () => void;
}

/** Smallest number of bytes that gzip's header and trailer take. */
const GZIP_FRAME_BYTES = 18;
const MEMORY_BYTES_MIN = 16_384;
/** Bytes by which the buffer exceeds the data, so that zlib finds the end without another one. */
const SLACK_BYTES = 64;

/**
 * Decompresses gzip data of at most `bytesMax` bytes into the working memory of the JSON scanner,
 * where it stays until the next text is scanned. Returns "large" for more data, of which it
 * decompresses no more than `bytesMax`, and "damaged" for data that is no complete gzip data.
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

/** Returns the size that the trailer of gzip data states. The statement may be false. */
function statedBytes(gzip: Buffer): number {
  if (gzip.length < GZIP_FRAME_BYTES) return MEMORY_BYTES_MIN;
  return Math.max(MEMORY_BYTES_MIN, gzip.readUInt32LE(gzip.length - 4));
}

let zlib: ReturnType<typeof openZlib> | undefined;

/**
 * Opens a decompression that is used for all requests. `gunzipSync` creates a stream, its state and
 * buffers for each call, and maps new memory. The parts of the stream that are used here are those
 * that `gunzipSync` itself uses; they have no types.
 */
function openZlib() {
  const stream = createGunzip() as unknown as { _handle: ZlibHandle; _writeState: Uint32Array };
  const opened = {
    // The stream frees the handle when it is collected, so it is kept.
    stream,
    handle: stream._handle,
    /** Bytes of room, and of gzip data, that the last call of `writeSync` left. */
    left: stream._writeState,
    hasFailed: false,
  };
  stream._handle.onerror = () => {
    opened.hasFailed = true;
  };
  return opened;
}
