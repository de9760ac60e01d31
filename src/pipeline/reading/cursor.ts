import { assert } from "../../assert.ts";
import type { CursorRecord } from "../model/lane-record.ts";
import { SequenceCounts } from "./sequence-counts.ts";

/**
 * The read position of a lane in one log. A lane delivers one destination's events. Records are
 * taken in order, but their events may be delivered in any order. The cursor is stored as `next`
 * and the numbers below it whose records have no final outcome, so a restart repeats only these
 * records.
 */
export class Cursor {
  /**
   * Sequence number of the next record to read. Below `next` only while older records are read for
   * a new connection, or records without a final outcome are read again after a restart.
   */
  position: number;
  #next: number;
  /**
   * Sequence numbers of the records whose events the lane has taken and which have no final outcome
   * yet. A number occurs twice when the record's connection was replaced after the lane took the
   * record.
   */
  readonly #pending = new SequenceCounts();
  /**
   * Sequence numbers that the stored cursor lists without a final outcome, and whose records have
   * not been taken again since the restart.
   */
  readonly #recovered: Set<number>;
  /**
   * Connection id → first sequence number to take for this connection. Has only new connections
   * that need records which were already read.
   */
  readonly #backfills = new Map<string, number>();
  /**
   * Lowest sequence number that would be read after a restart from the stored cursor. The log must
   * keep all later records.
   */
  #durableLow: number;

  constructor(record: CursorRecord) {
    assert(
      record.pending.every((sequence) => sequence < record.next),
      "Pending records are below the cursor",
    );
    this.#next = record.next;
    this.#recovered = new Set(record.pending);
    this.position = Math.min(record.next, ...record.pending);
    this.#durableLow = this.position;
  }

  get durableLow(): number {
    return this.#durableLow;
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
   * Moves reading back to `start`, to take older records for one connection only. Does nothing when
   * reading has not passed `start`.
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
    this.#durableLow = Math.min(this.#durableLow, start);
  }

  isBackfilling(connectionId: string): boolean {
    return this.#backfills.has(connectionId);
  }

  cancelBackfill(connectionId: string): void {
    this.#backfills.delete(connectionId);
  }

  /** Whether a record must still be taken for a connection. */
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

  /** Records that all records below `position` were read. */
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

  /** Records that a stored cursor is on disk. `low` is the value of `this.low` at its creation. */
  committed(low: number): void {
    // `this.low` is lower when a backfill began meanwhile.
    this.#durableLow = Math.min(low, this.low);
  }
}
