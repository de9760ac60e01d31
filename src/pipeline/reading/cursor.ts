import { assert } from "../../assert.ts";
import type { CursorRecord } from "../model/lane-record.ts";
import { SequenceCounts } from "./sequence-counts.ts";

/**
 * The read position of one lane (the delivery to one destination) in one log. Events may get their
 * final outcomes in any order, so the stored form also lists the records without one; a restart
 * reads these again.
 */
export class Cursor {
  /**
   * Sequence number of the next record to read. Lower than `#next`, the first record that was never
   * read, while older records are read for a new connection or again after a restart.
   */
  position: number;
  #next: number;
  /**
   * Sequence numbers of the records that were taken for delivery and have no final outcome yet. A
   * number occurs twice if its record was taken again for a connection that replaced the earlier
   * one.
   */
  readonly #pending = new SequenceCounts();
  /**
   * Sequence numbers that still have to be read again after a restart, because their records had no
   * final outcome. A number is removed once the read position has passed it.
   */
  readonly #recovered: Set<number>;
  /**
   * Connection id → first sequence number to take for this connection. Has only new connections for
   * which the lane still has to read records below `#next`.
   */
  readonly #backfills = new Map<string, number>();
  /**
   * Lowest sequence number that the lane would read after a restart, given the cursor that is
   * stored on disk. The log must keep this record and all later ones.
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
   * Whether all records that were read have a final outcome, and no older record remains to be read
   * for a new connection or after a restart.
   */
  get isSettled(): boolean {
    return this.low === this.#next;
  }

  get low(): number {
    const backfills = this.#backfills.values();
    return Math.min(this.#next, this.#pending.lowest, ...this.#recovered, ...backfills);
  }

  /**
   * Moves the read position back to `start`, so that the records from there on are taken for the
   * new connection `connectionId`. For other connections, no record is taken twice. Does nothing
   * when no record from `start` on was read.
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

  /**
   * Whether the record at `sequence` must still be taken for a connection: it was never read, it
   * must be read again after a restart, or the connection is new and needs older records.
   */
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

  /** Moves the read position to `position`. The caller has read all records below it. */
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
   * Notes that a copy of this cursor was stored on disk. `low` is the value that `this.low` had
   * when the copy was made.
   */
  committed(low: number): void {
    // `this.low` is lower when a backfill began meanwhile.
    this.durableLow = Math.min(low, this.low);
  }
}
