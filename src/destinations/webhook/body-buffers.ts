import { REQUEST_HEAD_ROOM_BYTES } from "../../egress/http-client.ts";

/** Maximum size in bytes of a buffer kept for reuse. Larger ones are garbage collected. */
const BUFFER_BYTES_MAX = 256 << 10;
const BUFFER_BYTES_MIN = 16 << 10;
/** Largest number of free buffers of all webhook destinations together. */
const FREE_BUFFERS_MAX = 16;

/**
 * Pool of buffers for request bodies, with room for the request head before the body. Allocating
 * new memory for each large body would take a tenth of the time of a delivery.
 */
export class BodyBuffers {
  readonly #free: ArrayBuffer[] = [];

  /** Returns a buffer for a body of `length` bytes, with room for a request head before it. */
  take(length: number): Uint8Array {
    const bytes = REQUEST_HEAD_ROOM_BYTES + length;
    const free = this.#free.at(-1);
    const isEnough = free !== undefined && free.byteLength >= bytes;
    if (isEnough) this.#free.pop();
    const buffer = isEnough ? free : new ArrayBuffer(sizeFor(bytes));
    return new Uint8Array(buffer, REQUEST_HEAD_ROOM_BYTES, length);
  }

  /** Takes back a buffer that `take` has returned. The caller must not use it afterwards. */
  give({ buffer }: Uint8Array): void {
    if (!(buffer instanceof ArrayBuffer) || buffer.byteLength > BUFFER_BYTES_MAX) return;
    // The largest are kept, because they fit more bodies.
    this.#free.push(buffer);
    this.#free.sort((a, b) => a.byteLength - b.byteLength);
    if (this.#free.length > FREE_BUFFERS_MAX) this.#free.shift();
  }
}

/**
 * Rounds a buffer's size up to a power of two, so that other bodies can reuse it. Sizes above
 * `BUFFER_BYTES_MAX` are unchanged.
 */
function sizeFor(bytes: number): number {
  if (bytes > BUFFER_BYTES_MAX) return bytes;
  let size = BUFFER_BYTES_MIN;
  while (size < bytes) size *= 2;
  return size;
}
