import { assert } from "../../assert.ts";
import type { CursorRecord } from "../model/lane-record.ts";
import { SequenceCounts } from "./sequence-counts.ts";

/**
 * The read position of a lane in one log. A lane delivers one destination's events. It takes
 * records in order, but may deliver their events in any order. The stored cursor has the position
 * `next` and the sequence numbers below it whose records have no final outcome. After a restart,
 * only these records are read again.
 */
export class Cursor {
  /**
   * Sequence number of the next record to read. It is below `#next`, the first record that was
   * never read, in two cases only: while older records are read for a new connection, and while
   * records without a final outcome are read again after a restart.
   */
  position: number;
  #next: number;
  /**
   * Sequence numbers of the records that the lane has taken and that have no final outcome yet. A
   * number occurs twice when another connection has replaced the record's connection and the lane
   * has taken the record again for it.
   */
  readonly #pending = new SequenceCounts();
  /**
   * Sequence numbers that the stored cursor lists as records without a final outcome. After a
   * restart, the lane takes these records again, and removes each number when it has taken or
   * passed the record.
   */
  readonly #recovered: Set<number>;
  /**
   * Connection id → first sequence number to take for the connection. Has only new connections that
   * need records which the lane has already read.
   */
  readonly #backfills = new Map<string, number>();
  /**
   * Lowest sequence number that a restart from the stored cursor would read. The log must keep the
   * records from this one on.
   */
  durableLow: number;

  constructor(record: CursorRecord) {
    assert(
      record.pending.every((sequence) => sequence < record.next),
      "Pending records are below the cursor",
    );
    this.#next = record.next;
    this.#recovered = new Set(record.pending);
    this.position = Math.min(record.next, ...record.pending);
    this.durableLow = this.position;
  }

  /**
   * Whether all records that were read have a final outcome, and no older records remain to be
   * read.
   */
  get isSettled(): boolean {
    return this.low === this.#next;
  }

  get low(): number {
    const backfills = this.#backfills.values();
    return Math.min(this.#next, this.#pending.lowest, ...this.#recovered, ...backfills);
  }

  /**
   * Moves the read position back to `start`, to take older records for one connection only. Does
   * nothing when no record from `start` on was read.
   */
  backfill(connectionId: string, start: number): void {
    if (start >= this.#next) return;
    // Connections that are backfilled already were read up to `position`; their start moves there,
    // so that no record is taken twice.
    for (const [id, from] of this.#backfills) {
      this.#backfills.set(id, Math.max(from, this.position));
    }
    this.#backfills.set(connectionId, Math.min(start, this.#backfills.get(connectionId) ?? start));
    this.position = Math.min(this.position, start);
    this.durableLow = Math.min(this.durableLow, start);
  }

  isBackfilling(connectionId: string): boolean {
    return this.#backfills.has(connectionId);
  }

  cancelBackfill(connectionId: string): void {
    this.#backfills.delete(connectionId);
  }

  /** Whether the record at `sequence` must still be taken for a connection. */
  wants(sequence: number, connectionId: string): boolean {
    if (sequence >= this.#next || this.#recovered.has(sequence)) return true;
    return sequence >= (this.#backfills.get(connectionId) ?? this.#next);
  }

  take(sequence: number): void {
    this.#pending.add(sequence);
    if (this.#recovered.size > 0) this.#recovered.delete(sequence);
  }

  settle(sequence: number): void {
    const wasPending = this.#pending.remove(sequence);
    assert(wasPending, "A record settles once for each time it was taken");
  }

  /** Moves the cursor to `position` after all records below it were read. */
  advanceTo(position: number): void {
    assert(position >= this.position, "A cursor ascends");
    this.position = position;
    // A recovered record that was passed and not taken no longer has a connection, or is no longer
    // in the log.
    for (const sequence of this.#recovered) {
      if (sequence < position) this.#recovered.delete(sequence);
    }
    if (position < this.#next) return;
    this.#next = position;
    this.#backfills.clear();
  }

  record(): CursorRecord {
    const taken = this.#pending.ascending();
    const pending =
      this.#recovered.size === 0 ? taken : [...taken, ...this.#recovered].sort((a, b) => a - b);
    assert((pending.at(-1) ?? -1) < this.#next, "Pending records are below the cursor");
    return { next: this.#next, pending };
  }

  /**
   * Notes that a copy of this cursor is stored durably. `low` is the value of `this.low` when the
   * copy was made.
   */
  committed(low: number): void {
    // `this.low` is lower when a backfill began meanwhile.
    this.durableLow = Math.min(low, this.low);
  }
}
