import { readSync, writeSync } from "node:fs";
import { GUEST_FRAME_BYTES_MAX } from "../../limits.ts";
import { decodeFrame, encodeFrame, type Frame, FrameError, LENGTH_BYTES } from "../frames.ts";

const STDIN = 0;
const STDOUT = 1;

/**
 * The guest's end of the pipes. Reads and writes block: a guest has nothing else to do, and it
 * is 2.7 times as fast at one event a frame as an event loop (44,000 against 16,000 a second).
 */
export function receive(): Frame | undefined {
  const length = readFully(LENGTH_BYTES);
  if (length === undefined) return undefined;
  const size = length.readUInt32LE(0);
  if (size > GUEST_FRAME_BYTES_MAX) throw new FrameError("Frame over its limit");
  const bytes = readFully(size);
  return bytes && decodeFrame(bytes);
}

export function send(header: object, body: string | Uint8Array = ""): void {
  const frame = encodeFrame(header, [typeof body === "string" ? Buffer.from(body) : body]);
  for (let written = 0; written < frame.length; ) {
    written += writeSync(STDOUT, frame, written, frame.length - written);
  }
}

/** Undefined at the end of the input: the host is gone. */
function readFully(size: number): Buffer | undefined {
  const buffer = Buffer.allocUnsafe(size);
  for (let filled = 0; filled < size; ) {
    const count = readSync(STDIN, buffer, filled, size - filled, null);
    if (count === 0) return undefined;
    filled += count;
  }
  return buffer;
}
