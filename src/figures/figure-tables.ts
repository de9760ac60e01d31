import { FIGURE_DAYS_MAX, FIGURE_MINUTES_HOURS_MAX } from "../settings/limits.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";
import { MINUTE_MS } from "./minute-counters.ts";
import { type FigureRow, mergeNodes, mergeTimes } from "./row.ts";
import type { Series } from "./series.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/**
 * Milliseconds from the end of an hour until the rows of its minutes are packed into one row. By
 * then, no node writes rows of these minutes.
 */
const PACK_AFTER_MS = 600_000;
/** Maximum number of rows that one transaction writes. */
const ROWS_AT_ONCE = 500;
/** Maximum number of series whose rows one transaction packs or deletes. */
const SERIES_AT_ONCE = 25;
/** Maximum number of series that one call of `tidy` examines in each table. */
const TIDY_SERIES_MAX = 1_000;

/**
 * Entry in a packed row: the figures of one minute or hour. `number` is the number of the minute in
 * its hour, or of the hour in its day.
 */
type PackedRow = readonly [number: number, ...FigureRow];
type PackedTable = Table<PackedRow[], [Series, number]>;

/** Figures that one node recorded for one series (an item, such as a destination) in one minute. */
export interface NodeRow {
  series: Series;
  /** Start of the minute, in milliseconds since the epoch. */
  at: number;
  /** Id of the process that counted. A node that starts again has another id. */
  recorder: string;
  row: FigureRow;
}

/**
 * Query for the rows of `series` whose time is `from` or later, but before `to`. They are read from
 * the tables and from `unwritten`: rows of any series that are not stored yet.
 */
interface RowQuery {
  series: Series;
  from: number;
  to: number;
  unwritten: readonly NodeRow[];
}

/**
 * Stored figures (counts, lag and latencies) by series and time, in a store of their own: a
 * starting node of a cluster can work before it has read them. Tables:
 * - `minutes`: a row for each node and minute, until `tidy` packs it
 * - `hours`: packed minutes, kept for a day
 * - `days`: packed hours, kept for a month
 */
export class FigureTables {
  readonly #minutes: Table<FigureRow, [Series, number, string]>;
  readonly #hours: PackedTable;
  readonly #days: PackedTable;
  /** For each table, the series after which the next call of `tidy` continues. */
  readonly #tidied = { minutes: "", hours: "", days: "" };

  constructor(private readonly store: Store) {
    this.#minutes = store.table("minutes");
    this.#hours = store.table("hours");
    this.#days = store.table("days");
  }

  /**
   * Writes rows. Writing the same rows again changes nothing, so the caller can repeat a write
   * whose outcome is unknown.
   */
  async write(rows: readonly NodeRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      const portion = rows.slice(from, from + ROWS_AT_ONCE);
      const put = () => {
        for (const { series, at, recorder, row } of portion) {
          this.#minutes.put([series, at, recorder], row);
        }
      };
      await this.store.change(put, { allowStale: true });
    }
  }

  /**
   * Reads the row of each minute from `from` to before `to`; the keys are the starts of the
   * minutes. A row in `unwritten` replaces a stored row of the same recorder and minute.
   */
  minutes(query: RowQuery): Map<number, FigureRow> {
    const found = this.#unpacked(query);
    for (const [at, row] of unpack(this.#hours, query, { spanMs: HOUR_MS, stepMs: MINUTE_MS })) {
      mergeInto(found, at, row, mergeNodes);
    }
    return found;
  }

  /**
   * Reads the row of each hour from `from` to before `to`; the keys are the starts of the hours.
   * Rows in `unwritten` are added to the row of their hour.
   */
  hours(query: RowQuery): Map<number, FigureRow> {
    const found = new Map<number, FigureRow>();
    for (const [at, row] of this.#unpacked(query)) {
      mergeInto(found, Math.floor(at / HOUR_MS) * HOUR_MS, row, mergeTimes);
    }
    for (const [at, row] of unpack(this.#days, query, { spanMs: DAY_MS, stepMs: HOUR_MS })) {
      mergeInto(found, at, row, mergeTimes);
    }
    return found;
  }

  /**
   * Packs the minute rows of past hours into rows of hours and days, and deletes rows that are too
   * old. Each call examines at most `TIDY_SERIES_MAX` series of each table; the next call continues
   * after them.
   */
  async tidy(now: number): Promise<void> {
    const packable = Math.floor((now - PACK_AFTER_MS) / HOUR_MS) * HOUR_MS;
    await this.#tidy("minutes", this.#minutes, packable, (series) => this.#pack(series, packable));
    const bounds = {
      hours: now - (FIGURE_MINUTES_HOURS_MAX + 1) * HOUR_MS,
      days: now - (FIGURE_DAYS_MAX + 1) * DAY_MS,
    };
    for (const name of ["hours", "days"] as const) {
      const table = name === "hours" ? this.#hours : this.#days;
      await this.#tidy(name, table, bounds[name], (series) => {
        for (const key of [...table.getKeys({ start: [series], end: [series, bounds[name]] })]) {
          table.remove(key);
        }
      });
    }
  }

  /**
   * Calls `change` for each series of a table with a row before the time `until`, at most
   * `SERIES_AT_ONCE` per transaction. Examines at most `TIDY_SERIES_MAX` series; the next call
   * continues after them.
   */
  async #tidy(
    name: "minutes" | "hours" | "days",
    table: Pick<Table<unknown, [Series, ...(number | string)[]]>, "getKeys">,
    until: number,
    change: (series: Series) => void,
  ): Promise<void> {
    let due: Series[] = [];
    const changeDue = async () => {
      const some = due;
      due = [];
      if (some.length === 0) return;
      await this.store.change(() => some.forEach(change), { allowStale: true });
    };
    for (let count = 0; count < TIDY_SERIES_MAX; count += 1) {
      const [first] = table.getKeys({ start: [after(this.#tidied[name])], limit: 1 });
      if (first === undefined) {
        this.#tidied[name] = "";
        break;
      }
      const [series, at] = first as [Series, number];
      this.#tidied[name] = series;
      if (at < until) due.push(series);
      if (due.length >= SERIES_AT_ONCE) await changeDue();
    }
    await changeDue();
  }

  /** Moves a series's minute rows before `until` into the rows of their hours and days. */
  #pack(series: Series, until: number): void {
    const rows = [...this.#minutes.getRange({ start: [series, 0, ""], end: [series, until, ""] })];
    const byHour = Map.groupBy(rows, ({ key }) => Math.floor(key[1] / HOUR_MS) * HOUR_MS);
    for (const [hour, added] of byHour) {
      const minutes = rowsByNumber(this.#hours.get([series, hour]));
      for (const { key, value } of added) {
        mergeInto(minutes, (key[1] - hour) / MINUTE_MS, value, mergeNodes);
        this.#minutes.remove(key);
      }
      this.#hours.put([series, hour], packed(minutes));
      const day = Math.floor(hour / DAY_MS) * DAY_MS;
      const hours = rowsByNumber(this.#days.get([series, day]));
      hours.set((hour - day) / HOUR_MS, [...minutes.values()].reduce(mergeTimes));
      this.#days.put([series, day], packed(hours));
    }
  }

  /**
   * Returns the rows of a series that are not packed yet, by the start of the minute: stored rows
   * and those in `unwritten`, from the time `from` to before `to`.
   */
  #unpacked(query: RowQuery): Map<number, FigureRow> {
    const { series, from, to, unwritten } = query;
    const stored = this.#minutes.getRange({ start: [series, from, ""], end: [series, to, ""] });
    const rows = [...stored].map(({ key, value }): NodeRow => {
      const [, at, recorder] = key;
      return { series, at, recorder, row: value };
    });
    return rowsByMinute(rows.concat(unwritten), query);
  }
}

/**
 * Reads the rows of a series by the start of their minute or hour (`step`). If `tables` is
 * undefined (the store is not open), reads only `query.unwritten`, always by minute.
 */
export function readRows(
  tables: FigureTables | undefined,
  step: "minutes" | "hours",
  query: RowQuery,
): Map<number, FigureRow> {
  return tables === undefined ? rowsByMinute(query.unwritten, query) : tables[step](query);
}

/**
 * Merges the given rows of a series by minute. If one recorder (process) has several rows of the
 * same minute, uses only the last of them.
 */
function rowsByMinute(
  rows: readonly NodeRow[],
  { series, from, to }: RowQuery,
): Map<number, FigureRow> {
  const last = new Map<string, NodeRow>();
  for (const row of rows) {
    const { series: of, at, recorder } = row;
    if (of === series && at >= from && at < to) last.set(`${at} ${recorder}`, row);
  }
  const merged = new Map<number, FigureRow>();
  for (const { at, row } of last.values()) mergeInto(merged, at, row, mergeNodes);
  return merged;
}

/**
 * Returns a string that sorts after all keys of a series and before those of the next one, because
 * a space sorts before the characters of ids. For "", returns "", the start of the table.
 */
const after = (series: Series) => (series === "" ? "" : `${series} `);

/**
 * Unpacks the rows of a series. A row covers `spanMs` and has one entry for each `stepMs`. Yields
 * the entries from the time `from` to before `to`, each with its start time.
 */
function* unpack(
  table: PackedTable,
  { series, from, to }: RowQuery,
  { spanMs, stepMs }: { spanMs: number; stepMs: number },
): Generator<[at: number, row: FigureRow]> {
  const first = Math.floor(from / spanMs) * spanMs;
  for (const { key, value } of table.getRange({ start: [series, first], end: [series, to] })) {
    for (const [number, ...row] of value) {
      const at = key[1] + number * stepMs;
      if (at >= from && at < to) yield [at, row];
    }
  }
}

const packed = (rows: ReadonlyMap<number, FigureRow>): PackedRow[] =>
  [...rows].sort(([one], [other]) => one - other).map(([number, row]) => [number, ...row]);

const rowsByNumber = (packedRows: readonly PackedRow[] = []) =>
  new Map<number, FigureRow>(packedRows.map(([number, ...row]) => [number, row]));

function mergeInto(
  rows: Map<number, FigureRow>,
  at: number,
  row: FigureRow,
  merge: (one: FigureRow, other: FigureRow) => FigureRow,
): void {
  const known = rows.get(at);
  rows.set(at, known === undefined ? row : merge(known, row));
}
