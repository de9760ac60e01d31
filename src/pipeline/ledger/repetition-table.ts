import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";

/**
 * An event that repeats an earlier event with the same source and messageId. `sequence` is the
 * sequence number of the repeating event in its log. The other elements describe the previous event
 * with this messageId.
 */
export type RepetitionRow = [
  sequence: number,
  previousLog: string,
  previousSequence: number,
  previousReceivedAt: number,
];

/** Events of a log that repeat an earlier event (see `RepetitionRow`), stored as one table row. */
export interface RepetitionLot {
  log: string;
  rows: RepetitionRow[];
}

/** Log → sequence number up to which the log was searched for repetitions. */
export type SearchedPositions = Readonly<Record<string, number>>;

/**
 * Key of a row with repeating events: their log and the sequence number of the first one. The row
 * with the key `POSITIONS` instead holds the positions up to which the logs were searched.
 */
type RowKey = [log: string, sequence: number];
const POSITIONS: RowKey = ["", 0];
type RowValue = RepetitionRow[] | SearchedPositions;

/** Stores which events repeat an earlier event of the same source. Deliveries skip such events. */
export class RepetitionTable {
  readonly #table: Table<RowValue, RowKey>;

  readonly #change: (apply: () => void) => Promise<void>;

  /** `change` calls `apply` in a transaction that fails if another node has claimed the ledger. */
  constructor(store: Pick<Store, "table">, change: (apply: () => void) => Promise<void>) {
    this.#table = store.table("repetitions");
    this.#change = change;
  }

  positions(): SearchedPositions {
    return (this.#table.get(POSITIONS) as SearchedPositions | undefined) ?? {};
  }

  /** Yields all lots, ordered by log name, then by the sequence number of their first event. */
  *lots(): Generator<RepetitionLot> {
    for (const { key, value } of this.#table.getRange({})) {
      if (key[0] !== "") yield { log: key[0], rows: value as RepetitionRow[] };
    }
  }

  /** Returns the row of the event `sequence` in `log`; undefined if it repeats no other event. */
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
