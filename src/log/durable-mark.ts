import { statSync } from "node:fs";
import { join } from "node:path";
import { makeMappable } from "../disk/mapped.ts";
import { makeDirectory } from "../disk/sync.ts";
import { StartError } from "../errors.ts";
import { PAGE_BYTES } from "./io/page.ts";

/**
 * Mark of the end of a log: the sequence number after its last durable record. The mark is in the
 * file `durable`, which several processes map into memory. The log's writer sets the mark before it
 * acknowledges a record.
 */
export type DurableMark = ReturnType<typeof openMark>;

/**
 * Opens the mark of the end of a log, and creates its file if it is missing. A new mark holds 0
 * until the log's writer sets it. Throws `StartError` if the file is too short for a number.
 */
export function openMark(directory: string) {
  makeDirectory(directory);
  const path = join(directory, "durable");
  makeMappable(path, new Uint8Array(PAGE_BYTES));
  const { size } = statSync(path);
  if (size < Float64Array.BYTES_PER_ELEMENT) {
    throw new StartError(
      `Expected ${PAGE_BYTES} bytes in ${path}, got ${size}; without the file, the next start looks for the end of the log itself`,
    );
  }
  const mapped = Bun.mmap(path, { shared: true });
  const number = new Float64Array(mapped.buffer, mapped.byteOffset, 1);
  return {
    get: () => number[0]!,
    set(sequence: number) {
      number[0] = sequence;
    },
  };
}

/**
 * Returns the sequence number that `mark` contains, as the log's last writer set it; 0 if it
 * contains no valid sequence number.
 */
export function readStoredMark(mark: DurableMark): number {
  const sequence = mark.get();
  return Number.isSafeInteger(sequence) && sequence > 0 ? sequence : 0;
}
