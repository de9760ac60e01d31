import { assert } from "../assert.ts";

/** Identifies an idempotent producer to brokers, which thereby detect repeated batches. */
export interface ProducerId {
  producerId: bigint;
  producerEpoch: number;
}

/** Records that the broker writes together, or not at all. */
export interface ProducerBatch<R> {
  records: readonly R[];
  producerId: ProducerId;
  /** Sequence number of the first record, for this producer id and partition. */
  sequence: number;
}

const SEQUENCES = 2 ** 31;

/** Returns the sequence number `count` records later; numbers wrap to 0 at 2^31. */
export const sequenceAfter = (sequence: number, count: number) => (sequence + count) % SEQUENCES;

/**
 * Queue of records for one partition, with at most one batch in flight. The batch keeps its
 * producer id and sequence number while it is sent again, so the broker writes it once.
 */
export class PartitionQueue<R> {
  #waiting: R[] = [];
  #batch: ProducerBatch<R> | undefined;
  #producerId: ProducerId | undefined;
  /** Producer id of the last batch that was abandoned with an unknown outcome. */
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

  /** Removes and returns the records that are in no batch. */
  takeWaiting(): R[] {
    return this.#waiting.splice(0);
  }

  /**
   * Returns the batch in flight. When there is none, it makes one of the first `count(waiting)`
   * records.
   */
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

  /** Ends the batch in flight after the broker has written it. Returns its records. */
  acknowledge(): readonly R[] {
    const isNext =
      this.#batch?.producerId === this.#producerId && this.#batch?.sequence === this.#nextSequence;
    assert(isNext, "An acknowledged batch has the next sequence number of its producer id");
    const { records, sequence } = this.#end();
    this.#nextSequence = sequenceAfter(sequence, records.length);
    return records;
  }

  /**
   * Ends the batch in flight after the broker has refused it. Puts the given records of it back at
   * the front of the queue; by default all.
   */
  requeue(records: readonly R[] = this.#batch?.records ?? []): void {
    this.#end();
    this.#waiting = [...records, ...this.#waiting];
  }

  /** Requeues the batch's records, to be sent under another id: the broker rejects this one. */
  requeueWithNewProducerId(): void {
    this.#retire();
    this.requeue();
  }

  /** Ends the batch in flight, which was not written and is not sent again. Returns its records. */
  discard(): readonly R[] {
    return this.#batch === undefined ? [] : this.#end().records;
  }

  /** Ends the batch in flight with an unknown outcome, and retires its id. Returns its records. */
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
