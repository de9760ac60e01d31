import type { EncodedBatch } from "./produce-client.ts";
import { encodeBatch, type ProducerId } from "./record-batch.ts";

/** A value on its way into a partition. */
export interface QueuedValue {
  /** Gives the value, in the moment in which it is sent first. */
  take(): Buffer;
  resolve(offset: bigint): void;
  reject(error: unknown): void;
}

/** Beyond so many bytes no other value joins a batch: with one more, a topic takes it still. */
const BATCH_BYTES = 512 << 10;
const SEQUENCES = 2 ** 31;

/**
 * What waits for one partition, in order. One batch is under way at a time, and keeps its identity
 * and its number until it is known what became of it: so a batch that comes again is there once.
 */
export class PartitionQueue {
  readonly partition: number;
  /** How often the batch was sent. */
  attempts = 0;
  /** The batch is under way, or rests between two attempts. */
  #isHeld = false;
  #waiting: QueuedValue[] = [];
  #batch: Batch | undefined;
  #identity: ProducerId | undefined;
  /** Number of the next record. */
  #sequence = 0;

  constructor(partition: number) {
    this.partition = partition;
  }

  get isDue(): boolean {
    return !this.#isHeld && (this.#batch !== undefined || this.#waiting.length > 0);
  }

  add(sending: QueuedValue): void {
    this.#waiting.push(sending);
  }

  /** The batch that is sent again as it was, or else the next one, of this identity. */
  batch(identity: ProducerId): EncodedBatch {
    const isAgain = this.#batch !== undefined && this.#identity !== undefined;
    if (!isAgain && this.#identity !== identity) {
      this.#identity = identity;
      this.#sequence = 0;
    }
    this.#batch ??= this.#next();
    this.#isHeld = true;
    this.attempts += 1;
    const { values } = this.#batch;
    this.#batch.pieces ??= encodeBatch(values, this.#identity!, this.#sequence);
    return { partition: this.partition, pieces: this.#batch.pieces };
  }

  /** The leader has the batch from this offset on. */
  taken(offset: bigint): void {
    const { all } = this.#end();
    this.#sequence = (this.#sequence + all.length) % SEQUENCES;
    for (const [index, { resolve }] of all.entries()) resolve(offset + BigInt(index));
  }

  /** What was held may be sent again. */
  release(): void {
    this.#isHeld = false;
  }

  /** The batch is sent again under another identity. */
  disown(): void {
    this.#identity = undefined;
    if (this.#batch !== undefined) this.#batch.pieces = undefined;
  }

  /** Gives up the batch, or what waits while there is none; what follows has another identity. */
  refuse(error: unknown): void {
    this.#identity = undefined;
    const all = this.#batch === undefined ? this.#waiting.splice(0) : this.#end().all;
    for (const { reject } of all) reject(error);
  }

  #next(): Batch {
    const values: Buffer[] = [];
    let bytes = 0;
    for (const { take } of this.#waiting) {
      if (bytes > BATCH_BYTES) break;
      const value = take();
      values.push(value);
      bytes += value.length;
    }
    return { all: this.#waiting.splice(0, values.length), values, pieces: undefined };
  }

  #end(): Batch {
    const batch = this.#batch!;
    this.#batch = undefined;
    this.#isHeld = false;
    this.attempts = 0;
    return batch;
  }
}

interface Batch {
  all: readonly QueuedValue[];
  values: readonly Buffer[];
  /** As a record batch of the identity that the outbox has. */
  pieces: Buffer[] | undefined;
}
