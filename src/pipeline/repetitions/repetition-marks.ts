import type { RepetitionLot } from "../ledger/repetition-table.ts";
import type { Occurrence } from "./recent-ids.ts";

/**
 * Returns the key of the ledger row that stores a lot, a group of repeated events found in one log:
 * the log's name and the sequence number of the lot's first event.
 */
export function keyOfLot({ log, rows }: RepetitionLot): [log: string, sequence: number] {
  return [log, rows[0]![0]];
}

/**
 * The repetitions of a partition that are stored in its ledger (store of delivery progress). A
 * repetition is an event whose messageId occurred before. It is stored with the position of the
 * previous occurrence.
 */
export class RepetitionMarks {
  /** Log → sequence number of a repetition → the previous occurrence of its messageId. */
  readonly #byLog = new Map<string, Map<number, Occurrence>>();
  /**
   * The repetitions in the order in which they were found, grouped into lots. Each lot is one row
   * of the ledger (store of delivery progress).
   */
  #lots: RepetitionLot[] = [];
  #count = 0;

  get(log: string, sequence: number): Occurrence | undefined {
    return this.#byLog.get(log)?.get(sequence);
  }

  add(lot: RepetitionLot): void {
    const marks = this.#byLog.getOrInsertComputed(lot.log, () => new Map());
    for (const [at, log, sequence, receivedAt] of lot.rows) {
      marks.set(at, { log, sequence, receivedAt });
    }
    this.#lots.push(lot);
    this.#count += lot.rows.length;
  }

  /**
   * Whether at least one lot (ledger row of repetitions) is obsolete, because its log has deleted
   * all of the lot's records. `firstOf` returns the first sequence number that a log still holds.
   */
  hasBefore(firstOf: (log: string) => number): boolean {
    return this.#lots.some((lot) => isBefore(lot, firstOf));
  }

  /**
   * Returns the stored lots (ledger rows of repeated events) to remove when `added` is stored: lots
   * whose records the log has deleted, and the oldest lots until at most `countMax` repetitions
   * remain.
   */
  surplus(
    added: readonly RepetitionLot[],
    countMax: number,
    firstOf: (log: string) => number,
  ): RepetitionLot[] {
    let excess = added.reduce((sum, { rows }) => sum + rows.length, this.#count) - countMax;
    return this.#lots.filter((lot) => {
      if (excess <= 0 && !isBefore(lot, firstOf)) return false;
      excess -= lot.rows.length;
      return true;
    });
  }

  remove(lots: readonly RepetitionLot[]): void {
    if (lots.length === 0) return;
    const removed = new Set(lots);
    for (const { log, rows } of lots) {
      for (const [sequence] of rows) this.#byLog.get(log)?.delete(sequence);
      this.#count -= rows.length;
    }
    this.#lots = this.#lots.filter((lot) => !removed.has(lot));
  }
}

function isBefore({ log, rows }: RepetitionLot, firstOf: (log: string) => number): boolean {
  return rows.at(-1)![0] < firstOf(log);
}
