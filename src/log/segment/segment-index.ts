import { assert } from "../../assert.ts";

/** Least distance between two entries of an index. */
const LOG_INDEX_STRIDE_BYTES = 64 << 10;

/** The block at `offset` of a segment holds no record before `sequence`. */
export interface IndexEntry {
  sequence: number;
  offset: number;
}

/**
 * Offsets of the blocks of one segment, as far as it has been read: one entry per
 * `LOG_INDEX_STRIDE_BYTES`, and the furthest entry. Finding a sequence number again costs a binary
 * search and a short scan; following the log's end costs no scan.
 */
export class SegmentIndex {
  readonly #entries: IndexEntry[];
  #furthest: IndexEntry;

  constructor(first: number) {
    this.#furthest = { sequence: first, offset: 0 };
    this.#entries = [this.#furthest];
  }

  /** The last entry at or before `sequence`. */
  floor(sequence: number): IndexEntry {
    if (this.#furthest.sequence <= sequence) return this.#furthest;
    let low = 0;
    let high = this.#entries.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#entries[middle]!.sequence <= sequence) low = middle;
      else high = middle - 1;
    }
    return this.#entries[low]!;
  }

  /** Adds an entry; ignores one that is not beyond the furthest. */
  add(entry: IndexEntry): void {
    if (entry.offset <= this.#furthest.offset) return;
    assert(entry.sequence >= this.#furthest.sequence, "Sequence numbers ascend in a segment");
    this.#furthest = entry;
    const last = this.#entries.at(-1)!;
    if (entry.offset - last.offset >= LOG_INDEX_STRIDE_BYTES) this.#entries.push(entry);
  }
}
