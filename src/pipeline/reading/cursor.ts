import type { CursorRecord } from "../model/lane-record.ts";

/**
 * A lane's place in one log. Records are taken in order and settle in any order. `next` is durable
 * together with the few sequence numbers below it that are still pending, so that a restart repeats
 * only those.
 */
export class Cursor {
  /** Where to read on; below `next` only while records are taken late or again. */
  position: number;
  #next: number;
  readonly #pending = new Set<number>();
  /** Records that were pending at the last stop and have not been taken again yet. */
  readonly #recovered: Set<number>;
  /**
   * Connections that appeared after their first records were read: id → sequence number where each
   * starts.
   */
  readonly #late = new Map<string, number>();
  /** The lowest record that must not be trimmed, according to what the ledger has stored. */
  #durableLow: number;

  constructor(record: CursorRecord) {
    this.#next = record.next;
    this.#recovered = new Set(record.pending);
    this.position = Math.min(record.next, ...record.pending);
    this.#durableLow = this.position;
  }

  get durableLow(): number {
    return this.#durableLow;
  }

  get low(): number {
    return Math.min(this.#next, ...this.#pending, ...this.#recovered, ...this.#late.values());
  }

  /**
   * Records of this connection from `start` on are wanted, although the lane has read past them.
   */
  takeLate(connectionId: string, start: number): void {
    if (start >= this.#next) return;
    // Connections that are catching up already have been read up to `position`; their start moves
    // there, so that no record is taken twice.
    for (const [id, from] of this.#late) this.#late.set(id, Math.max(from, this.position));
    this.#late.set(connectionId, Math.min(start, this.#late.get(connectionId) ?? start));
    this.position = Math.min(this.position, start);
    this.#durableLow = Math.min(this.#durableLow, start);
  }

  isLate(connectionId: string): boolean {
    return this.#late.has(connectionId);
  }

  forgetLate(connectionId: string): void {
    this.#late.delete(connectionId);
  }

  /** Whether this record is still to be taken for this connection. */
  wants(sequence: number, connectionId: string): boolean {
    if (sequence >= this.#next || this.#recovered.has(sequence)) return true;
    return sequence >= (this.#late.get(connectionId) ?? this.#next);
  }

  take(sequence: number): void {
    this.#pending.add(sequence);
    this.#recovered.delete(sequence);
  }

  settle(sequence: number): void {
    this.#pending.delete(sequence);
  }

  /** All records below `position` were read. */
  moveTo(position: number): void {
    this.position = position;
    // A recovered record that was passed and not taken has no connection any more, or is gone from
    // the log.
    for (const sequence of this.#recovered) {
      if (sequence < position) this.#recovered.delete(sequence);
    }
    if (position < this.#next) return;
    this.#next = position;
    this.#late.clear();
  }

  record(): CursorRecord {
    const pending = [...this.#pending, ...this.#recovered].sort((a, b) => a - b);
    return { next: this.#next, pending };
  }

  /** The record that was made of the cursor is on disk; `low` was the cursor's at that time. */
  kept(low: number): void {
    // `this.low` is lower when something was taken late meanwhile.
    this.#durableLow = Math.min(low, this.low);
  }
}
