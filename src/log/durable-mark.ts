import { existsSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { makeMappable } from "../disk/mapped.ts";
import { makeDirectory } from "../disk/sync.ts";
import { PAGE_BYTES } from "./io/page.ts";

/**
 * The end of a log, in memory that its writer shares with other processes: the mapped file `durable`
 * of the log's directory. The writer sets the mark before it acknowledges a record, so that a
 * process that saw the acknowledgement reads a number beyond that record; a message between the
 * processes could arrive later.
 */
export interface DurableMark {
  get(): number;
  set(sequence: number): void;
}

/** Opens the mark of a log directory. Its value counts only once a writer has set it. */
export function openMark(directory: string): DurableMark {
  makeDirectory(directory);
  const path = join(directory, "durable");
  if (existsSync(path) && statSync(path).size < PAGE_BYTES) renew(path);
  makeMappable(path, new Uint8Array(PAGE_BYTES));
  const mapped = Bun.mmap(path, { shared: true });
  const number = new Float64Array(mapped.buffer, mapped.byteOffset, 1);
  return {
    get: () => number[0]!,
    set(sequence) {
      number[0] = sequence;
    },
  };
}

/** The number that the last writer left in the mark; 0 when it is no sequence number. */
export function readStoredMark(mark: DurableMark): number {
  const sequence = mark.get();
  return Number.isSafeInteger(sequence) && sequence > 0 ? sequence : 0;
}

/**
 * Replaces a mark of an earlier version, which was eight bytes long and may have no space on a full
 * disk.
 */
function renew(path: string): void {
  const content = new Uint8Array(PAGE_BYTES);
  content.set(readFileSync(path).subarray(0, PAGE_BYTES));
  unlinkSync(path);
  makeMappable(path, content);
}
