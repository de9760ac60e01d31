import { BLOCK_RECORDS_MAX, type Block, blockAt } from "../../log/block.ts";
import { BlockCache, type CachedBlock } from "../../log/block-cache.ts";
import type { LogPart, LogReader, LogRecord } from "../../log/event-log.ts";
import type { LossReport } from "../../log/loss-report.ts";
import type { Fetcher, FetchResult } from "../topics/fetcher.ts";
import { BlockRecordCounts } from "./block-record-counts.ts";
import { offsetOf, sequenceOf } from "./sequence.ts";

export interface PartitionReaderOptions {
  /** Name of the log in losses and warnings. */
  name: string;
  partition: number;
  fetcher: Fetcher;
  /** Deletes what lies below an offset. */
  trim(offset: bigint): Promise<void>;
  /** Offset of the oldest block that is kept. */
  first: bigint;
  losses: LossReport;
  /** Bytes of blocks that are kept in memory. */
  cacheBytesMax?: number;
}

/** A partition that is read; nothing before `advance` or `take` has told what is durable. */
export interface PartitionReader extends LogReader {
  /** Takes what was fetched from the end on, and returns the new blocks. */
  addFetched(fetched: FetchResult): readonly CachedBlock[];
  /**
   * Whether lanes of this node read the partition. Then nobody else trims it: what they ask for and
   * is not there was lost.
   */
  setOwned(isOwned: boolean): void;
  /** Offsets are counted from here on; what was read of it before is forgotten. */
  reset(offset: bigint): void;
}

export function openPartitionReader(options: PartitionReaderOptions): PartitionReader {
  return new PartitionLogReader(options);
}

/** How long a read waits for a leader that was just chosen to know what was acknowledged. */
const READ_MS_MAX = 5_000;
const READ_RETRY_MS = 50;

/** Parts that a partition is taken to have at most. */
const PARTS_MAX = 64n;

/** A block to hand out, or the position to go on from without one. */
type Found = CachedBlock | number;

class PartitionLogReader implements PartitionReader {
  readonly #options: PartitionReaderOptions;
  #cache: BlockCache;
  readonly #counts = new BlockRecordCounts();
  /** Looks under way, by offset: lanes that wake together share one. */
  readonly #looks = new Map<bigint, Promise<Found>>();
  /** Offsets of damage that has been told. */
  readonly #damage = new Set<bigint>();
  /** Blocks that were read, and their bytes: the brokers do not tell what blocks take. */
  readonly #seen = { blocks: 0, bytes: 0 };
  #first: number;
  #end: number;
  /** Where the partition began when it was opened. */
  readonly #opened: number;
  /** Everything below was deleted by this reader. */
  #trimmed = 0;
  #isOwned = false;

  constructor(options: PartitionReaderOptions) {
    this.#options = options;
    this.#cache = new BlockCache(options.cacheBytesMax);
    this.#first = sequenceOf(options.first);
    this.#end = this.#first;
    this.#opened = this.#first;
  }

  first(): number {
    return this.#first;
  }

  end(): number {
    return this.#end;
  }

  advance(sequence: number): void {
    this.#end = Math.max(this.#end, sequence);
  }

  setOwned(isOwned: boolean): void {
    this.#isOwned = isOwned;
  }

  reset(offset: bigint): void {
    this.#cache = new BlockCache(this.#options.cacheBytesMax);
    this.#first = sequenceOf(offset);
    this.#end = this.#first;
    // Losses before were reported already.
    this.#trimmed = Math.max(this.#trimmed, this.#first);
  }

  addFetched(fetched: FetchResult): readonly CachedBlock[] {
    const blocks = this.#blocksOf(fetched).map((block) => this.#cache.add(block));
    const last = fetched.values.at(-1);
    this.#startAt(fetched.first);
    if (last !== undefined) this.advance(sequenceOf(last.offset + 1n));
    return blocks;
  }

  countBetween(from: number, to: number): number {
    return this.#counts.estimateBetween(Math.max(from, this.#first), to);
  }

  async read(sequence: number, bytesMax: number): Promise<{ records: LogRecord[]; next: number }> {
    const records: LogRecord[] = [];
    let next = this.#kept(sequence);
    let bytes = 0;
    while (next < this.#end && (records.length === 0 || bytes < bytesMax)) {
      const offset = offsetOf(next);
      const found = this.#cache.get(sequenceOf(offset)) ?? (await this.#look(offset));
      if (typeof found === "number") {
        if (found <= next) break;
        next = found;
      } else {
        for (const record of found.records) if (record.sequence >= next) records.push(record);
        bytes += found.bytes.length;
        next = sequenceOf(offsetOf(found.first) + 1n);
      }
    }
    return { records, next };
  }

  async trim(sequence: number): Promise<void> {
    const offset = offsetOf(Math.min(sequence, this.#end));
    if (sequenceOf(offset) <= this.#first) return;
    this.#trimmed = Math.max(this.#trimmed, sequenceOf(offset));
    await this.#options.trim(offset);
    this.#first = Math.max(this.#first, sequenceOf(offset));
    this.#options.losses.forget(this.#options.name, this.#first);
  }

  /**
   * A partition can be cut anywhere, also at its end, where an empty part stands. The others begin
   * where they began before, as far as can be.
   */
  parts(): LogPart[] {
    const first = offsetOf(this.#first);
    const end = offsetOf(this.#end);
    let step = 1n;
    while ((end - first) / step >= PARTS_MAX) step *= 2n;
    const bytesOfBlock = this.#seen.blocks === 0 ? 0 : this.#seen.bytes / this.#seen.blocks;
    const parts: LogPart[] = [];
    for (let at = first; at < end; ) {
      const next = (at / step + 1n) * step;
      const blocks = (next < end ? next : end) - at;
      parts.push({ first: sequenceOf(at), bytes: Math.round(Number(blocks) * bytesOfBlock) });
      at = next;
    }
    parts.push({ first: sequenceOf(end), bytes: 0 });
    return parts;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#looks.values());
  }

  #look(offset: bigint): Promise<Found> {
    const known = this.#looks.get(offset);
    if (known !== undefined) return known;
    const look = this.#find(offset).finally(() => this.#looks.delete(offset));
    this.#looks.set(offset, look);
    return look;
  }

  /** The block at an offset, or where to go on when there is none and there should be. */
  async #find(offset: bigint): Promise<Found> {
    const { fetcher, partition, name } = this.#options;
    const until = performance.now() + READ_MS_MAX;
    for (;;) {
      const fetched = await fetcher.fetch(partition, offset);
      const [found, ...others] = this.#blocksOf(fetched);
      for (const block of others) this.#cache.add(block);
      if (found !== undefined) {
        const cached = this.#cache.add(found);
        return offsetOf(found.first) === offset ? cached : this.#passOver(offset, found.first);
      }
      const last = fetched.values.at(-1);
      if (last !== undefined) return sequenceOf(last.offset + 1n);
      this.#startAt(fetched.first);
      if (fetched.first > offset) {
        const next = sequenceOf(fetched.first);
        // Where others' lanes read, others trim.
        return this.#isOwned ? this.#passOver(offset, next) : next;
      }
      // The leader is about to learn what others have.
      if (performance.now() > until) throw new Error(`Block ${offset} of ${name} is not there`);
      await Bun.sleep(READ_RETRY_MS);
    }
  }

  #blocksOf({ values }: FetchResult): Block[] {
    return values.flatMap(({ offset, value }) => this.#block(offset, value) ?? []);
  }

  /** The brokers keep nothing below this offset. */
  #startAt(offset: bigint): void {
    this.#first = Math.max(this.#first, sequenceOf(offset));
    this.#end = Math.max(this.#end, this.#first);
  }

  /** Where to read when a sequence number is asked for. */
  #kept(sequence: number): number {
    // Who asks for the first number of all means where the partition begins.
    const lost = Math.max(sequence === 0 ? this.#opened : sequence, this.#trimmed);
    if (this.#isOwned && lost < this.#first) this.#passOver(offsetOf(lost), this.#first);
    return Math.max(sequence, this.#first);
  }

  #block(offset: bigint, value: Buffer): Block | undefined {
    const block = blockAt(value, 0, 0);
    if (block === undefined || block.end > BLOCK_RECORDS_MAX) {
      this.#tellDamage(offset, value.length);
      return undefined;
    }
    this.#seen.blocks += 1;
    this.#seen.bytes += value.length;
    this.#counts.add(Number(offset), block.end);
    const first = sequenceOf(offset);
    return { first, end: first + block.end, bytes: block.bytes };
  }

  #tellDamage(offset: bigint, bytes: number): void {
    if (this.#damage.has(offset)) return;
    this.#damage.add(offset);
    const { name, losses } = this.#options;
    losses.damaged(name, name, Number(offset), bytes);
  }

  #passOver(from: bigint, to: number): number {
    const { name, losses } = this.#options;
    // Blocks are counted, because their number of records is unknown.
    losses.missing(name, { from: sequenceOf(from), to }, Number(offsetOf(to) - from));
    return to;
  }
}
