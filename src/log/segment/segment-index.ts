/** Distance between two places that a reader remembers of a segment. */
const LOG_INDEX_STRIDE_BYTES = 64 << 10;

/** A place in a segment: the block at `offset` holds no record before `sequence`. */
export interface IndexEntry {
  sequence: number;
  offset: number;
}

/**
 * Where blocks of one segment start, as far as the segment has been read: one place per
 * `LOG_INDEX_STRIDE_BYTES`, and the furthest place exactly. Finding a sequence number again costs a
 * binary search and a short walk; following the log's end costs no walk at all.
 */
export class SegmentIndex {
  readonly #places: IndexEntry[];
  #furthest: IndexEntry;

  constructor(first: number) {
    this.#furthest = { sequence: first, offset: 0 };
    this.#places = [this.#furthest];
  }

  /** The last known place at or before `sequence`. */
  floor(sequence: number): IndexEntry {
    if (this.#furthest.sequence <= sequence) return this.#furthest;
    let low = 0;
    let high = this.#places.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#places[middle]!.sequence <= sequence) low = middle;
      else high = middle - 1;
    }
    return this.#places[low]!;
  }

  /** Notes a place; the index ignores one that is not beyond its furthest. */
  note(place: IndexEntry): void {
    if (place.offset <= this.#furthest.offset) return;
    this.#furthest = place;
    const last = this.#places.at(-1)!;
    if (place.offset - last.offset >= LOG_INDEX_STRIDE_BYTES) this.#places.push(place);
  }
}
