import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { OutgoingEvent } from "../destination.ts";

const newline = 10;
const blank = 0x20;

/** A line per event. A line break in JSON text can only stand between its tokens, where a blank does as well. */
export function jsonLines(events: readonly OutgoingEvent[]): Buffer {
  const length = events.reduce((sum, { bytes }) => sum + bytes.length + 1, 0);
  const lines = Buffer.allocUnsafe(length);
  let end = 0;
  for (const { bytes } of events) {
    lines.set(bytes, end);
    if (bytes.includes(newline)) {
      for (let at = end; at < end + bytes.length; at++)
        if (lines[at] === newline) lines[at] = blank;
    }
    end += bytes.length + 1;
    lines[end - 1] = newline;
  }
  return lines;
}

const compress = promisify(gzip);

/** `jsonLines`, compressed on another thread: 10 MiB take 100 ms. */
export function gzipJsonLines(events: readonly OutgoingEvent[]): Promise<Buffer> {
  return compress(jsonLines(events), { level: 4 });
}
