/**
 * Number of successive sequence numbers that one `Block` of a `SequenceCounts` covers. Blocks save
 * memory and time, because the sequence numbers in one `SequenceCounts` lie close together.
 */
const BLOCK_SEQUENCES = 128;

interface Block {
  number: number;
  /** How often the `SequenceCounts` holds each sequence number that the block covers. */
  counts: Uint16Array;
  size: number;
}

/**
 * A collection of sequence numbers, which may hold a number more than once. Neighbouring numbers
 * share a block, so that adding or removing one is an array access, which is faster than an access
 * to a `Map`.
 */
export class SequenceCounts {
  readonly #blocks = new Map<number, Block>();
  /**
   * The block that `add` or `remove` used last. An empty block is only in this field, not in
   * `#blocks`.
   */
  #last: Block = { number: -1, counts: new Uint16Array(), size: 0 };

  add(sequence: number): void {
    const number = Math.floor(sequence / BLOCK_SEQUENCES);
    const block = this.#block(number) ?? this.#create(number);
    if (block.size === 0) this.#blocks.set(number, block);
    block.counts[sequence - number * BLOCK_SEQUENCES]! += 1;
    block.size += 1;
  }

  /** Removes one occurrence of a sequence number. Returns false when there is none. */
  remove(sequence: number): boolean {
    const number = Math.floor(sequence / BLOCK_SEQUENCES);
    const block = this.#block(number);
    const index = sequence - number * BLOCK_SEQUENCES;
    if (block === undefined || block.counts[index] === 0) return false;
    block.counts[index]! -= 1;
    block.size -= 1;
    if (block.size === 0) this.#blocks.delete(number);
    return true;
  }

  /** The lowest sequence number; Infinity when there is none. */
  get lowest(): number {
    let lowest: Block | undefined;
    for (const block of this.#blocks.values()) {
      if (lowest === undefined || block.number < lowest.number) lowest = block;
    }
    if (lowest === undefined) return Number.POSITIVE_INFINITY;
    return lowest.number * BLOCK_SEQUENCES + lowest.counts.findIndex((count) => count > 0);
  }

  /** Returns the sequence numbers in ascending order, each of them once. */
  ascending(): number[] {
    const sequences: number[] = [];
    const blocks = [...this.#blocks.values()].sort((a, b) => a.number - b.number);
    for (const { number, counts } of blocks) {
      for (let index = 0; index < BLOCK_SEQUENCES; index++) {
        if (counts[index]! > 0) sequences.push(number * BLOCK_SEQUENCES + index);
      }
    }
    return sequences;
  }

  #block(number: number): Block | undefined {
    if (this.#last.number === number) return this.#last;
    const block = this.#blocks.get(number);
    if (block !== undefined) this.#last = block;
    return block;
  }

  #create(number: number): Block {
    this.#last = { number, counts: new Uint16Array(BLOCK_SEQUENCES), size: 0 };
    return this.#last;
  }
}
