/**
 * Runs user code for bench/backlog-floor.ts, without a sandbox: reads JSON arrays of events from
 * the standard input, a line each, and writes an array of the results for each.
 *
 *   bun bench/backlog-floor-code.ts JAVASCRIPT
 */
import { readSync, writeSync } from "node:fs";

const BUFFER_BYTES = 4 << 20;
const NEWLINE = 0x0a;
const code = process.argv[2]!.replace("export function", "function");
const transformEvent = new Function(`${code}\nreturn transformEvent;`)();

const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
const metadata = { sourceId: "s1" };
let end = 0;
for (;;) {
  const count = readSync(0, buffer, end, BUFFER_BYTES - end, null);
  if (count === 0) break;
  let searched = end;
  end += count;
  let start = 0;
  for (;;) {
    const newline = buffer.subarray(0, end).indexOf(NEWLINE, searched);
    if (newline < 0) break;
    const events = JSON.parse(buffer.toString("utf8", start, newline)) as unknown[];
    const results = events.map((event) => transformEvent(event, () => metadata));
    const answer = Buffer.from(`${JSON.stringify(results)}\n`);
    for (let sent = 0; sent < answer.length; ) sent += writeSync(1, answer, sent);
    start = newline + 1;
    searched = start;
  }
  buffer.copyWithin(0, start, end);
  end -= start;
}
