import { assert } from "../assert.ts";

/** Id by which brokers know an idempotent producer, and so recognize a batch that is sent again. */
export interface ProducerId {
  producerId: bigint;
  producerEpoch: number;
}

/** Records that are written together or not at all. */
export interface ProducerBatch<R> {
  records: readonly R[];
  producerId: ProducerId;
  /** Sequence number of the first record. */
  sequence: number;
}

const SEQUENCES = 2 ** 31;

/** Sequence number after `count` records; after the largest one they begin at 0 again. */
export const sequenceAfter = (sequence: number, count: number) => (sequence + count) % SEQUENCES;

/**
 * Records for one partition, in order. One batch is in flight at a time. It keeps its producer id
 * and its sequence number until its outcome is known, so a batch that is sent again is written once.
 */
export class PartitionQueue<R> {
  #waiting: R[] = [];
  #batch: ProducerBatch<R> | undefined;
  #producerId: ProducerId | undefined;
  /** Producer id of a batch that was given up without a known outcome. */
  #retired: ProducerId | undefined;
  #nextSequence = 0;

  get waiting(): readonly R[] {
    return this.#waiting;
  }

  /** The batch in flight. */
  get batch(): ProducerBatch<R> | undefined {
    return this.#batch;
  }

  get isEmpty(): boolean {
    return this.#batch === undefined && this.#waiting.length === 0;
  }

  push(...records: readonly R[]): void {
    for (const record of records) this.#waiting.push(record);
  }

  /** Removes the records that are in no batch. */
  takeWaiting(): R[] {
    return this.#waiting.splice(0);
  }

  /** The batch in flight, or else a new one of the first `count(waiting)` records. */
  fill(producerId: ProducerId, count: (waiting: readonly R[]) => number): ProducerBatch<R> {
    if (this.#batch !== undefined) return this.#batch;
    assert(producerId !== this.#retired, "A producer id is not used after a batch was abandoned");
    if (this.#producerId !== producerId) this.#nextSequence = 0;
    this.#producerId = producerId;
    const records = this.#waiting.splice(0, count(this.#waiting));
    assert(records.length > 0, "A batch holds at least one record");
    this.#batch = { records, producerId, sequence: this.#nextSequence };
    return this.#batch;
  }

  /** The broker has written the batch: returns its records. */
  acknowledge(): readonly R[] {
    const isNext =
      this.#batch?.producerId === this.#producerId && this.#batch?.sequence === this.#nextSequence;
    assert(isNext, "An acknowledged batch has the next sequence number of its producer id");
    const { records, sequence } = this.#end();
    this.#nextSequence = sequenceAfter(sequence, records.length);
    return records;
  }

  /** The broker has not written the batch: puts these of its records back, with new batches. */
  requeue(records: readonly R[] = this.#batch?.records ?? []): void {
    this.#end();
    this.#waiting = [...records, ...this.#waiting];
  }

  /** The broker does not know the producer id: the records go again under another one. */
  requeueWithNewProducerId(): void {
    this.#retire();
    this.requeue();
  }

  /** The broker has not written the batch, and it is not sent again: returns its records. */
  discard(): readonly R[] {
    return this.#batch === undefined ? [] : this.#end().records;
  }

  /** Gives up the batch, which may be written or not: returns its records. */
  abandon(): readonly R[] {
    if (this.#batch === undefined) return [];
    this.#retire();
    return this.#end().records;
  }

  #retire(): void {
    this.#retired = this.#producerId;
    this.#producerId = undefined;
  }

  #end(): ProducerBatch<R> {
    const batch = this.#batch;
    assert(batch !== undefined, "An outcome belongs to the batch in flight");
    this.#batch = undefined;
    return batch;
  }
}
