import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * Number of blocks, counted from the newest one, whose exact record counts stay in memory. Each
 * block is one Kafka record with many events.
 */
const KNOWN_MAX = 1_024;

/**
 * Estimates how many event records are in the blocks of one partition. A block is one Kafka record
 * with many events. Counts are exact for the `KNOWN_MAX` blocks added last; older blocks count as
 * average.
 */
export class BlockRecordCounts {
  readonly #offsets = new Float64Array(KNOWN_MAX).fill(-1);
  readonly #counts = new Uint16Array(KNOWN_MAX);
  #blocks = 0;
  #records = 0;

  add(offset: number, records: number): void {
    this.#offsets[offset % KNOWN_MAX] = offset;
    this.#counts[offset % KNOWN_MAX] = records;
    this.#blocks += 1;
    this.#records += records;
  }

  /**
   * Estimates how many event records have a sequence number from `from` (inclusive) to `to`
   * (exclusive). Each block reserves `BLOCK_RECORDS_MAX` sequence numbers. A block with n records
   * uses the first n of the reserved numbers, one per record.
   */
  estimateBetween(from: number, to: number): number {
    const first = Math.floor(from / BLOCK_RECORDS_MAX);
    const last = Math.floor((to - 1) / BLOCK_RECORDS_MAX);
    if (last - first >= KNOWN_MAX) {
      return Math.ceil(((to - from) / BLOCK_RECORDS_MAX) * this.#usual());
    }
    let records = 0;
    for (let offset = first; offset <= last; offset++) {
      const start = offset * BLOCK_RECORDS_MAX;
      const end = Math.min(to - start, this.#of(offset));
      records += Math.max(0, end - Math.max(0, from - start));
    }
    return Math.ceil(records);
  }

  #of(offset: number): number {
    const at = offset % KNOWN_MAX;
    return this.#offsets[at] === offset ? this.#counts[at]! : this.#usual();
  }

  #usual(): number {
    return this.#blocks === 0 ? 1 : this.#records / this.#blocks;
  }
}
