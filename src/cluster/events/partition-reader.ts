import { assert } from "../../assert.ts";
import { BLOCK_RECORDS_MAX, type Block, blockAt, recordsOf } from "../../log/block.ts";
import { BlockCache } from "../../log/block-cache.ts";
import type { LogPart, LogReader, LogRecord } from "../../log/event-log.ts";
import type { LossReport } from "../../log/loss-report.ts";
import type { FetchResult } from "../topics/fetch-answer.ts";
import type { Fetcher } from "../topics/fetcher.ts";
import { BlockRecordCounts } from "./block-record-counts.ts";
import { offsetOf, sequenceOf } from "./sequence.ts";

export interface PartitionReaderOptions {
  /** Name of the partition's log, for warnings and reports of lost blocks. */
  name: string;
  partition: number;
  fetcher: Fetcher;
  /** Makes the brokers delete the partition's blocks below an offset. */
  trim(offset: bigint): Promise<void>;
  /**
   * Offset of the oldest block that the brokers have when the reader is created. Absent if the
   * partition had no leader that answered.
   */
  first?: bigint | undefined;
  losses: LossReport;
  /** Largest number of bytes of blocks that the reader caches in memory. */
  cacheBytesMax: number;
}

/**
 * Milliseconds for which a read is repeated while the leader of the partition does not return the
 * block. A new leader may need some time until it returns acknowledged blocks.
 */
const READ_MS_MAX = 5_000;
const READ_RETRY_MS = 50;

/**
 * Exclusive limit on the number of full-length parts into which the method `parts` divides a
 * partition. In larger partitions, the parts are longer. Shorter parts at the partition's ends are
 * not counted.
 */
const PARTS_MAX = 64n;

/**
 * Result of reading at one offset: the block there or, if the block was deleted or is damaged, the
 * sequence number at which reading continues.
 */
type Found = Block | number;

/**
 * Reads the blocks of one partition of the event log. Reads return no records until `advance` or
 * `addFetched` has told the reader where the durable blocks end.
 */
export class PartitionReader implements LogReader {
  #cache: BlockCache;
  readonly #counts = new BlockRecordCounts();
  /** Fetches in flight, by block offset. Concurrent reads of the same offset share one fetch. */
  readonly #looks = new Map<bigint, Promise<Found>>();
  /**
   * Offsets of damaged blocks that were already reported, so that each block is reported only once.
   */
  readonly #damage = new Set<bigint>();
  /**
   * Number of blocks read so far, and their total bytes. Brokers do not report sizes, so the method
   * `parts` assumes the average size for the other blocks.
   */
  readonly #seen = { blocks: 0, bytes: 0 };
  #first: number;
  #end: number;
  /**
   * First sequence number of the partition when this reader was created or, if there was no leader,
   * at the first read; undefined before. A read from 0 does not report blocks before this number as
   * lost.
   */
  #opened: number | undefined;
  /**
   * Sequence number below which missing blocks are not reported as lost: blocks that this reader
   * has deleted, and blocks before the log's beginning at the last call of `reset`.
   */
  #trimmed = 0;
  #isOwned = false;

  constructor(private readonly options: PartitionReaderOptions) {
    this.#cache = new BlockCache(options.cacheBytesMax);
    this.#opened = options.first === undefined ? undefined : sequenceOf(options.first);
    this.#first = this.#opened ?? 0;
    this.#end = this.#first;
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

  /**
   * Sets whether this node delivers the partition's events. The reader reports missing blocks as
   * lost only while this node delivers, because otherwise the delivering node may have deleted
   * them.
   */
  setOwned(isOwned: boolean): void {
    this.#isOwned = isOwned;
  }

  /**
   * Empties the cache and makes the log begin at offset `first` and end at `end`, after the topic
   * was recreated or lost blocks. Reads do not report blocks before `first` as lost.
   */
  reset(first: bigint, end: bigint): void {
    this.#cache = new BlockCache(this.options.cacheBytesMax);
    this.#first = sequenceOf(first);
    this.#end = sequenceOf(end);
    // Reads must not report the blocks before `first` as lost: a loss was reported by the caller.
    this.#trimmed = Math.max(this.#trimmed, this.#first);
  }

  /**
   * Caches the blocks that a fetch from offset `end()` returned, and advances the end beyond them.
   * Returns the cached blocks.
   */
  addFetched(fetched: FetchResult): readonly Block[] {
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
        for (const record of recordsOf(found)) if (record.sequence >= next) records.push(record);
        bytes += found.bytes.length;
        next = sequenceOf(offsetOf(found.first) + 1n);
      }
    }
    return { records, next };
  }

  async trim(sequence: number, stop?: AbortSignal): Promise<void> {
    const offset = offsetOf(Math.min(sequence, this.#end));
    if (sequenceOf(offset) <= this.#first) return;
    this.#trimmed = Math.max(this.#trimmed, sequenceOf(offset));
    // A request to a silent broker takes longer than a partition may take to stop.
    await unlessAborted(this.options.trim(offset), stop);
    if (stop?.aborted) return;
    this.#first = Math.max(this.#first, sequenceOf(offset));
    this.options.losses.forget(this.options.name, this.#first);
  }

  /**
   * Divides the partition into parts of one length, at most about `PARTS_MAX`. Most boundaries stay
   * the same from call to call. An empty part ends the list, because retention deletes a part only
   * if another part follows.
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
    return this.#looks.getOrInsertComputed(offset, () =>
      this.#find(offset).finally(() => this.#looks.delete(offset)),
    );
  }

  /**
   * Fetches the block at an offset. If the block was deleted or is damaged, resolves with the
   * sequence number at which reading continues. Rejects when the partition's leader has not sent
   * the block within `READ_MS_MAX`.
   */
  async #find(offset: bigint): Promise<Found> {
    const { fetcher, partition, name } = this.options;
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
        const lost = offset === 0n ? offsetOf(this.#opened!) : offset;
        // Another node that runs the lanes may have trimmed the block: it is not lost.
        return this.#isOwned && lost < fetched.first ? this.#passOver(lost, next) : next;
      }
      // A new leader learns within seconds which blocks were acknowledged.
      if (performance.now() > until) throw new Error(`Block ${offset} of ${name} is not there`);
      await Bun.sleep(READ_RETRY_MS);
    }
  }

  #blocksOf({ values }: FetchResult): Block[] {
    for (const [index, { offset }] of values.entries()) {
      const isNext = index === 0 || offset > values[index - 1]!.offset;
      assert(isNext, "Block offsets of a partition ascend");
    }
    return values.flatMap(({ offset, value }) => this.#block(offset, value) ?? []);
  }

  /**
   * Raises the partition's first sequence number, if it is lower, to that of the block at `offset`,
   * the oldest block on the brokers. Then raises the partition's end, if it is lower, to the first
   * sequence number.
   */
  #startAt(offset: bigint): void {
    this.#opened ??= sequenceOf(offset);
    this.#first = Math.max(this.#first, sequenceOf(offset));
    this.#end = Math.max(this.#end, this.#first);
  }

  /**
   * Returns `sequence`, or the partition's first sequence number if that is larger. If this node
   * delivers the partition, reports the blocks between the two as lost, except blocks that this
   * node deleted.
   */
  #kept(sequence: number): number {
    // Sequence number 0 stands for the beginning of the partition.
    const opened = this.#opened ?? this.#first;
    const lost = Math.max(sequence === 0 ? opened : sequence, this.#trimmed);
    if (this.#isOwned && lost < this.#first) this.#passOver(offsetOf(lost), this.#first);
    return Math.max(sequence, this.#first);
  }

  #block(offset: bigint, value: Buffer): Block | undefined {
    const block = blockAt(value, 0, 0);
    if (block === undefined || block.end > BLOCK_RECORDS_MAX) {
      const { name, losses } = this.options;
      if (!this.#damage.has(offset)) losses.damaged(name, name, Number(offset), value.length);
      this.#damage.add(offset);
      return undefined;
    }
    this.#seen.blocks += 1;
    this.#seen.bytes += value.length;
    this.#counts.add(Number(offset), block.end);
    const first = sequenceOf(offset);
    return { first, end: first + block.end, bytes: block.bytes };
  }

  #passOver(from: bigint, to: number): number {
    const { name, losses } = this.options;
    // Blocks are counted, because their number of records is unknown.
    losses.missing(name, { from: sequenceOf(from), to }, Number(offsetOf(to) - from));
    return to;
  }
}

/** Waits until the promise settles or `stop` aborts. */
async function unlessAborted(promise: Promise<void>, stop?: AbortSignal): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const abort = () => resolve();
  stop?.addEventListener("abort", abort);
  await Promise.race([promise, aborted]).finally(() => stop?.removeEventListener("abort", abort));
}
