import { classify, isTooLarge, sentenceOf } from "./failures.ts";
import type { EventRecord } from "./record.ts";

/** By which brokers know a producer, and so a batch that comes again. */
export interface Identity {
  id: bigint;
  epoch: number;
}

/** Records that are written together or not at all. */
export interface Batch {
  records: EventRecord[];
  identity: Identity;
  sequence: number;
}

/** What became of the records of an answered batch. */
export interface Settled {
  written: EventRecord[];
  refused: { record: EventRecord; reason: string }[];
  /** Why the batch has to come again. */
  again?: string;
}

/** What a broker answers for a batch. */
export interface PartitionAnswer {
  errorCode: number;
  errorMessage?: string | null;
  recordErrors?: { batchIndex: number; batchIndexErrorMessage: string | null }[];
}

/** By default a topic takes 1,048,588 bytes of a batch; the rest is for its head. */
const BATCH_BYTES_MAX = 1_000_000;
const SEQUENCES = 2 ** 31;

/**
 * What waits for one partition, in order. One batch is under way at a time, and keeps its identity
 * and number until a broker has said what became of it: a batch that comes again is written once.
 */
export class Partition {
  readonly topic: string;
  readonly index: number;
  waiting: EventRecord[] = [];
  batch: Batch | undefined;
  #identity: Identity | undefined;
  /** Number of the next record. */
  #sequence = 0;
  /** Most bytes of a batch: half of what the topic did not take. */
  #bytesMax = BATCH_BYTES_MAX;
  /** Most records of the next batch, while a wrong one is looked for. */
  #countMax = Number.POSITIVE_INFINITY;

  constructor(topic: string, index: number) {
    this.topic = topic;
    this.index = index;
  }

  /** Makes the next batch, unless one is under way. */
  fill(identity: Identity): void {
    if (this.batch !== undefined) return;
    let bytes = 0;
    let count = 0;
    for (const record of this.waiting) {
      bytes += record.bytes;
      if (count > 0 && (bytes > this.#bytesMax || count >= this.#countMax)) break;
      count += 1;
    }
    if (this.#identity !== identity) this.#sequence = 0;
    this.#identity = identity;
    this.batch = { records: this.waiting.splice(0, count), identity, sequence: this.#sequence };
  }

  /** Takes up what a broker answered for the batch. */
  answered({ errorCode, errorMessage, recordErrors = [] }: PartitionAnswer): Settled {
    const { records } = this.batch!;
    switch (classify(errorCode)) {
      case "written":
        this.#sequence = (this.batch!.sequence + records.length) % SEQUENCES;
        this.batch = undefined;
        // The next wrong one may be far away.
        this.#countMax *= 2;
        return { written: records, refused: [] };
      case "records": {
        const about = (detail?: string | null) => sentenceOf(errorCode, this.topic, detail);
        const named = new Map(
          recordErrors.map((it) => [it.batchIndex, about(it.batchIndexErrorMessage)]),
        );
        if (records.length === 1) named.set(0, named.get(0) ?? about(errorMessage));
        return this.#without(named, isTooLarge(errorCode));
      }
      case "identity":
        // The records go again under another identity, with new numbers.
        this.#identity = undefined;
        this.#back(records);
        break;
      default:
    }
    const again = sentenceOf(errorCode, this.topic, errorMessage);
    return { written: [], refused: [], again };
  }

  /**
   * Nothing of the batch was written: those that are named are refused, the others go again. Where
   * none is named, the wrong one shows in smaller batches.
   */
  #without(named: Map<number, string>, isTooLarge: boolean): Settled {
    const { records } = this.batch!;
    const refused = [...named]
      .filter(([index]) => records[index] !== undefined)
      .map(([index, reason]) => ({ record: records[index]!, reason }));
    if (refused.length === 0 && isTooLarge) {
      // Also the batches that come later must not be larger.
      this.#bytesMax = records.reduce((sum, record) => sum + record.bytes, 0) / 2;
    } else if (refused.length === 0) this.#countMax = Math.ceil(records.length / 2);
    const wrong = new Set(refused.map(({ record }) => record));
    this.#back(records.filter((record) => !wrong.has(record)));
    return { written: [], refused };
  }

  /** Gives up the batch that is under way, of which nothing was written. */
  drop(): EventRecord[] {
    const records = this.batch?.records ?? [];
    this.batch = undefined;
    return records;
  }

  #back(records: EventRecord[]): void {
    this.waiting = [...records, ...this.waiting];
    this.batch = undefined;
  }
}
