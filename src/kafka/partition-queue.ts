import { assert } from "../assert.ts";

/** Id and epoch of an idempotent producer. Brokers use them to detect repeated batches. */
export interface ProducerId {
  producerId: bigint;
  producerEpoch: number;
}

/** Batch of records. The broker writes either all of them or none. */
export interface ProducerBatch<R> {
  records: readonly R[];
  producerId: ProducerId;
  /**
   * Sequence number of the batch's first record. Records are numbered separately for each producer
   * id and each partition.
   */
  sequence: number;
}

const SEQUENCES = 2 ** 31;

/** Returns the sequence number that is `count` after `sequence`. The number after 2^31 - 1 is 0. */
export const sequenceAfter = (sequence: number, count: number) => (sequence + count) % SEQUENCES;

/**
 * Queue of the records for one partition, with at most one batch in flight. A batch that is sent
 * again has the same producer id and sequence number, so the broker writes it only once.
 */
export class PartitionQueue<R> {
  #waiting: R[] = [];
  #batch: ProducerBatch<R> | undefined;
  #producerId: ProducerId | undefined;
  /**
   * Producer id that must not be used again: a batch with this id was abandoned although the broker
   * may have written it, or the broker has rejected the id. Undefined if there is none.
   */
  #retired: ProducerId | undefined;
  #nextSequence = 0;

  get waiting(): readonly R[] {
    return this.#waiting;
  }

  /** Returns the batch in flight; undefined while there is none. */
  get batch(): ProducerBatch<R> | undefined {
    return this.#batch;
  }

  get isEmpty(): boolean {
    return this.#batch === undefined && this.#waiting.length === 0;
  }

  push(...records: readonly R[]): void {
    for (const record of records) this.#waiting.push(record);
  }

  /** Removes all waiting records and returns them. The batch in flight and its records stay. */
  takeWaiting(): R[] {
    return this.#waiting.splice(0);
  }

  /**
   * Returns the batch in flight. If there is none, makes one from the first waiting records.
   * `count` gets all waiting records, and returns how many of them go into the batch.
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

  /** Ends the batch in flight, because the broker has written it. Returns the batch's records. */
  acknowledge(): readonly R[] {
    const isNext =
      this.#batch?.producerId === this.#producerId && this.#batch?.sequence === this.#nextSequence;
    assert(isNext, "An acknowledged batch has the next sequence number of its producer id");
    const { records, sequence } = this.#end();
    this.#nextSequence = sequenceAfter(sequence, records.length);
    return records;
  }

  /**
   * Ends the batch in flight, because the broker has refused it. `records` are the batch's records
   * to send again (by default all of them). They go back to the front of the queue.
   */
  requeue(records: readonly R[] = this.#batch?.records ?? []): void {
    this.#end();
    this.#waiting = [...records, ...this.#waiting];
  }

  /**
   * Ends the batch in flight, because the broker rejects its producer id. Puts the batch's records
   * back in the queue, to be sent with another producer id.
   */
  requeueWithNewProducerId(): void {
    this.#retire();
    this.requeue();
  }

  /**
   * Removes the batch in flight, and returns its records. Call this only if the broker has
   * certainly not written the batch.
   */
  discard(): readonly R[] {
    return this.#batch === undefined ? [] : this.#end().records;
  }

  /**
   * Removes the batch in flight, and returns the batch's records. Call this if the broker may have
   * written the batch. After the call, `fill` must not get the batch's producer id again.
   */
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
