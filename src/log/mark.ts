import { closeSync, fstatSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

/**
 * Where a log ends, in memory that its writer shares with other processes: a file `durable` of
 * the directory, mapped. The writer sets it before it acknowledges, so that whoever saw an
 * acknowledgement reads a number beyond that record; a message could come later.
 */
export interface DurableMark {
  get(): number;
  set(sequence: number): void;
}

const MARK_BYTES = 8;

/** Opens the mark of a log directory. What it says counts only once a writer has set it. */
export function openMark(directory: string): DurableMark {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "durable");
  const fd = openSync(path, "a+", 0o640);
  try {
    // Written, not extended: storing to a hole of a full disk would be a bus error.
    if (fstatSync(fd).size < MARK_BYTES) writeSync(fd, Buffer.alloc(MARK_BYTES));
  } finally {
    closeSync(fd);
  }
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
