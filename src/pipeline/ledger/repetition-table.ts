import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";

/**
 * An event whose messageId the same source had sent before. `sequence` is its sequence number in
 * its log. The other elements are the log, the sequence number and the time of receipt of the
 * previous event with this messageId.
 */
export type RepetitionRow = [
  sequence: number,
  previousLog: string,
  previousSequence: number,
  previousReceivedAt: number,
];

/** Repetitions in one log that one search has found. They are stored in one row. */
export interface RepetitionLot {
  log: string;
  rows: RepetitionRow[];
}

/** Log → sequence number up to which the log was searched for repetitions. */
export type SearchedPositions = Readonly<Record<string, number>>;

/**
 * Key of a lot: its log and first sequence number. The key `POSITIONS`, which is of no lot, has an
 * empty log name.
 */
type RowKey = [log: string, sequence: number];
const POSITIONS: RowKey = ["", 0];
type RowValue = RepetitionRow[] | SearchedPositions;

/** The table of events that repeat earlier ones. Lanes skip these events. */
export class RepetitionTable {
  readonly #table: Table<RowValue, RowKey>;

  readonly #change: (apply: () => void) => Promise<void>;

  /** `change` runs a function in a transaction that only the owner of the ledger may make. */
  constructor(store: Pick<Store, "table">, change: (apply: () => void) => Promise<void>) {
    this.#table = store.table("repetitions");
    this.#change = change;
  }

  positions(): SearchedPositions {
    return (this.#table.get(POSITIONS) as SearchedPositions | undefined) ?? {};
  }

  /** All repetitions, sorted by log and sequence number. */
  *lots(): Generator<RepetitionLot> {
    for (const { key, value } of this.#table.getRange({})) {
      if (key[0] !== "") yield { log: key[0], rows: value as RepetitionRow[] };
    }
  }

  /** Returns the row of the record with this number; undefined when it repeats no other. */
  find(log: string, sequence: number): RepetitionRow | undefined {
    const start: RowKey = [log, sequence];
    const [found] = [...this.#table.getRange({ start, end: [log, -1], reverse: true, limit: 1 })];
    const rows = found?.value as RepetitionRow[] | undefined;
    return rows?.find((row) => row[0] === sequence);
  }

  /** Adds `lots`, removes the lots with the keys `removed`, and stores the searched positions. */
  put(
    lots: readonly RepetitionLot[],
    removed: readonly RowKey[],
    positions: SearchedPositions,
  ): Promise<void> {
    return this.#change(() => {
      for (const { log, rows } of lots) this.#table.put([log, rows[0]![0]], rows);
      for (const key of removed) this.#table.remove(key);
      this.#table.put(POSITIONS, positions);
    });
  }
}
