/**
 * The process that is killed: clients that append one record after the other, each number written
 * to a file once it was acknowledged. (A file: the page cache survives the kill, a pipe may be
 * full.)
 */

import { openSync, writeSync } from "node:fs";
import { CLIENTS, recordText, SEGMENT_BYTES_MAX, SEGMENT_MS_MAX } from "./crash.ts";
import { openTextWriter } from "./support.ts";

const [directory, round, told] = process.argv.slice(2) as [string, string, string];
const fd = openSync(told, "a");
const writer = await openTextWriter(directory, {
  segmentBytesMax: SEGMENT_BYTES_MAX,
  segmentMsMax: SEGMENT_MS_MAX,
});

async function client(id: number): Promise<void> {
  for (let n = 0; ; n++) {
    await writer.append(recordText(Number(round), id, n));
    writeSync(fd, `${id} ${n}\n`);
  }
}
await Promise.all(Array.from({ length: CLIENTS }, (_, id) => client(id)));
