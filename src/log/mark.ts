import { existsSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { makeMappable } from "../disk/mapped.ts";
import { makeDirectory } from "../disk/sync.ts";
import { PAGE_BYTES } from "./page.ts";

/**
 * Where a log ends, in memory that its writer shares with other processes: a file `durable` of
 * the directory, mapped. The writer sets it before it acknowledges, so that whoever saw an
 * acknowledgement reads a number beyond that record; a message could come later.
 */
export interface DurableMark {
  get(): number;
  set(sequence: number): void;
}

/** Opens the mark of a log directory. What it says counts only once a writer has set it. */
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

/** What the last writer left in the mark; 0 when that can be no sequence number. */
export function storedMark(mark: DurableMark): number {
  const sequence = mark.get();
  return Number.isSafeInteger(sequence) && sequence > 0 ? sequence : 0;
}

/** Marks of earlier versions were eight bytes long, for which a full disk may have no place. */
function renew(path: string): void {
  const content = new Uint8Array(PAGE_BYTES);
  content.set(readFileSync(path).subarray(0, PAGE_BYTES));
  unlinkSync(path);
  makeMappable(path, content);
}
