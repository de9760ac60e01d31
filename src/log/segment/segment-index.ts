import { assert } from "../../assert.ts";

/** Smallest distance, in bytes of a segment file, between two entries of the file's index. */
const LOG_INDEX_STRIDE_BYTES = 64 << 10;

/**
 * Entry of a segment's index. All blocks that start at or after `offset` in the segment file
 * contain only records with sequence numbers of at least `sequence`.
 */
export interface IndexEntry {
  sequence: number;
  offset: number;
}

/**
 * Index of one segment file, built while the file is read. The index has an entry for about every
 * `LOG_INDEX_STRIDE_BYTES`, from which a reader scans for a record, and one for the end of the
 * blocks read so far.
 */
export class SegmentIndex {
  readonly #entries: IndexEntry[];
  #furthest: IndexEntry;

  constructor(first: number) {
    this.#furthest = { sequence: first, offset: 0 };
    this.#entries = [this.#furthest];
  }

  /** Returns the last entry whose `sequence` is at most the given `sequence`. */
  floor(sequence: number): IndexEntry {
    if (this.#furthest.sequence <= sequence) return this.#furthest;
    return this.#entries.findLast((entry) => entry.sequence <= sequence) ?? this.#entries[0]!;
  }

  /** Adds an entry to the index if its offset is beyond all offsets in the index. */
  add(entry: IndexEntry): void {
    if (entry.offset <= this.#furthest.offset) return;
    assert(entry.sequence >= this.#furthest.sequence, "Sequence numbers ascend in a segment");
    this.#furthest = entry;
    const last = this.#entries.at(-1)!;
    if (entry.offset - last.offset >= LOG_INDEX_STRIDE_BYTES) this.#entries.push(entry);
  }
}
