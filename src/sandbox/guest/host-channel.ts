import fs from "node:fs";
import { GUEST_FRAME_BYTES_MAX } from "../guest-limits.ts";
import {
  BYTES_PER_CHAR_MAX,
  decodeFrame,
  type GuestFrame,
  GuestFrameError,
  headerField,
  LENGTH_BYTES,
  NEWLINE,
} from "../protocol/guest-frames.ts";
import type { ExchangeNumber } from "../protocol/guest-protocol.ts";

const STDIN = 0;
const STDOUT = 1;

/**
 * Initial size in bytes of the buffers `input` and `output`, which are reused for all frames
 * (messages). Measured: a new buffer for each frame of 200 KB takes a tenth of the time of a batch
 * with a hundred events.
 */
const BUFFER_BYTES = 1 << 20;
let usualInput = Buffer.allocUnsafeSlow(BUFFER_BYTES);
let output = Buffer.allocUnsafeSlow(BUFFER_BYTES);
/**
 * Maximum size in bytes of an input buffer that is kept for reuse. A larger buffer, which a frame
 * such as a program with its libraries may need, is used only once.
 */
const KEPT_BYTES_MAX = 8 << 20;

/**
 * Buffer for data from the host (the server). Its bytes between `start` and `end` have been
 * received but not used yet.
 */
let input = usualInput;
let start = 0;
let end = 0;
/**
 * Requests that arrived while the guest process waited for results of host calls (calls of
 * functions that the server executes). `receive` returns these requests first.
 */
const backlog: GuestFrame[] = [];
/**
 * Number that identifies the request in progress. Every frame that the guest process sends contains
 * it, so that the host (the server) can check to which request the frame belongs.
 */
let exchange = 0;

/**
 * Reads the next request from the host (the server); undefined when the host has closed the socket
 * or died. The body is valid until the next call of `receive` or `receiveResults`. With one event
 * per frame, blocking reads handle 44,000 events a second, an event loop handles 16,000.
 */
export function receive(): GuestFrame | undefined {
  const frame = backlog.shift() ?? nextFrame();
  if (frame) exchange = (frame.header as ExchangeNumber).exchange;
  return frame;
}

/**
 * Waits for the results of the host calls that the guest process has sent in a `wait` frame.
 * Requests that arrive before the results are kept for `receive`. Returns undefined when the host
 * has died.
 */
export function receiveResults(): GuestFrame | undefined {
  for (;;) {
    const frame = nextFrame();
    if (!frame || headerField(frame, "kind") === "answers") return frame;
    backlog.push(decodeFrame(Buffer.from(frame.bytes)));
  }
}

function nextFrame(): GuestFrame | undefined {
  if (start === end) {
    input = usualInput;
    start = 0;
    end = 0;
  }
  if (!readUntil(LENGTH_BYTES)) return undefined;
  const size = input.readUInt32LE(start);
  if (size > GUEST_FRAME_BYTES_MAX) throw new GuestFrameError("Expected a frame within its limit");
  if (!readUntil(LENGTH_BYTES + size)) return undefined;
  const bytes = input.subarray(start + LENGTH_BYTES, start + LENGTH_BYTES + size);
  start += LENGTH_BYTES + size;
  return decodeFrame(bytes);
}

/**
 * Reads from the socket until `input` has `wanted` unused bytes. Returns false if the socket has
 * ended before that.
 */
function readUntil(wanted: number): boolean {
  if (start + wanted > input.length) {
    const room = wanted > input.length ? inputOf(wanted) : input;
    input.copy(room, 0, start, end);
    input = room;
    end -= start;
    start = 0;
  }
  while (end - start < wanted) {
    const count = fs.readSync(STDIN, input, end, input.length - end, null);
    if (count === 0) return false;
    end += count;
  }
  return true;
}

function inputOf(bytes: number): Buffer<ArrayBuffer> {
  const room = Buffer.allocUnsafeSlow(bytes);
  if (bytes <= KEPT_BYTES_MAX) usualInput = room;
  return room;
}

/**
 * Sends a frame of a header and a body, whose strings are separated by newlines. Each string is
 * encoded separately, because one character outside Latin-1 would double the memory of a joined
 * string.
 */
export function send(header: object, body: readonly string[] = []): void {
  const line = JSON.stringify({ ...header, exchange });
  let chars = line.length;
  for (const text of body) chars += text.length + 1;
  makeRoom(BYTES_PER_CHAR_MAX * chars + 1);
  let end = LENGTH_BYTES + output.write(line, LENGTH_BYTES);
  output[end++] = NEWLINE;
  for (let i = 0; i < body.length; i += 1) {
    if (i > 0) output[end++] = NEWLINE;
    end += output.write(body[i]!, end);
  }
  write(end);
}

/** Sends an encoded frame unchanged. Its header already contains the number of the request. */
export function sendFrame(bytes: Uint8Array): void {
  makeRoom(bytes.length);
  output.set(bytes, LENGTH_BYTES);
  write(LENGTH_BYTES + bytes.length);
}

function makeRoom(bytesMax: number): void {
  if (LENGTH_BYTES + bytesMax <= output.length) return;
  output = Buffer.allocUnsafeSlow(LENGTH_BYTES + bytesMax);
}

/**
 * Sets the length of the frame in `output`, and writes the first `end` bytes of `output` to the
 * socket.
 */
function write(end: number): void {
  output.writeUInt32LE(end - LENGTH_BYTES, 0);
  for (let written = 0; written < end; ) {
    written += fs.writeSync(STDOUT, output, written, end - written);
  }
}
