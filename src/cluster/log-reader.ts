import { BLOCK_RECORDS_MAX, type Block, blockAt } from "../log/block.ts";
import { BlockCache, type CachedBlock } from "../log/block-cache.ts";
import type { LogPart, LogReader, LogRecord } from "../log/event-log.ts";
import type { Losses } from "../log/losses.ts";
import type { Fetcher } from "./fetcher.ts";
import { offsetOf, sequenceOf } from "./position.ts";

export interface PartitionReaderOptions {
  /** What losses and warnings call it. */
  name: string;
  partition: number;
  fetcher: Fetcher;
  /** Deletes what lies below an offset. */
  trim(offset: bigint): Promise<void>;
  /** Offset of the oldest block that is kept. */
  first: bigint;
  losses: Losses;
}

/** Opens a partition for reading. It reads nothing before `advance` has told what is durable. */
export function openPartitionReader(options: PartitionReaderOptions): LogReader {
  return new PartitionLogReader(options);
}

/** Parts that a partition is taken to have at most. */
const PARTS_MAX = 64n;

/** A block to hand out, or the position to go on from without one. */
type Found = CachedBlock | number;

class PartitionLogReader implements LogReader {
  readonly #options: PartitionReaderOptions;
  readonly #cache = new BlockCache();
  /** Looks under way, by offset: lanes that wake together share one. */
  readonly #looks = new Map<bigint, Promise<Found>>();
  /** Offsets of damage that has been told. */
  readonly #damage = new Set<bigint>();
  /** Blocks that were read, and their bytes: the brokers do not tell what blocks take. */
  readonly #seen = { blocks: 0, bytes: 0 };
  #first: number;
  #end: number;

  constructor(options: PartitionReaderOptions) {
    this.#options = options;
    this.#first = sequenceOf(options.first);
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

  async read(sequence: number, bytesMax: number): Promise<{ records: LogRecord[]; next: number }> {
    const records: LogRecord[] = [];
    let next = Math.max(sequence, this.#first);
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
    await this.#options.trim(offset);
    this.#first = Math.max(this.#first, sequenceOf(offset));
    this.#options.losses.forget(this.#options.name, this.#first);
  }

  /** A partition can be cut anywhere. Its parts begin where they began before, as far as can be. */
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
    const { fetcher, partition } = this.#options;
    const { values, first } = await fetcher.fetch(partition, offset);
    let found: Found | undefined;
    for (const { offset: at, value } of values) {
      const block = this.#block(at, value);
      if (block === undefined) continue;
      const cached = this.#cache.add(block);
      found ??= at === offset ? cached : this.#passOver(offset, at);
    }
    if (found !== undefined) return found;
    const last = values.at(-1);
    if (last !== undefined) return sequenceOf(last.offset + 1n);
    // Deleted behind the log's back; else the leader is about to learn what others have.
    if (first <= offset) return sequenceOf(offset);
    this.#first = Math.max(this.#first, sequenceOf(first));
    return this.#passOver(offset, first);
  }

  #block(offset: bigint, value: Buffer): Block | undefined {
    const block = blockAt(value, 0, 0);
    if (block === undefined || block.end > BLOCK_RECORDS_MAX) {
      this.#tellDamage(offset, value.length);
      return undefined;
    }
    this.#seen.blocks += 1;
    this.#seen.bytes += value.length;
    const first = sequenceOf(offset);
    return { first, end: first + block.end, bytes: block.bytes };
  }

  #tellDamage(offset: bigint, bytes: number): void {
    if (this.#damage.has(offset)) return;
    this.#damage.add(offset);
    const { name, losses } = this.#options;
    losses.damaged(name, name, Number(offset), bytes);
  }

  #passOver(from: bigint, to: bigint): number {
    const { name, losses } = this.#options;
    const gap = { from: sequenceOf(from), to: sequenceOf(to) };
    // Blocks are what can be counted: nobody knows how many records they held.
    losses.missing(name, gap, Number(to - from));
    return gap.to;
  }
}
