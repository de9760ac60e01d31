import { assert } from "../../assert.ts";
import type { DeliveryResult, FailureScope, OutgoingEvent } from "../destination.ts";
import type { ColumnType } from "./column-values.ts";
import { type EventRow, NoRowError, rawRow, rowsOf } from "./event-rows.ts";
import { TABLES_OF_DESTINATION_MAX } from "./limits.ts";
import {
  missingColumns,
  NoColumnError,
  recordOf,
  type TableColumns,
  type TableRecord,
  wholeRecord,
} from "./table-records.ts";
import type { WarehouseNames } from "./warehouse-names.ts";

/** Records to insert into one table. */
export interface TableLoad {
  table: string;
  columns: TableColumns;
  records: TableRecord[];
  /**
   * Events that were left out because the table cannot hold their rows: the index of the event, and
   * the reason.
   */
  refused?: ReadonlyMap<number, string>;
}

/**
 * The database operations that the table loader uses. The methods reject with `DatabaseFailure`.
 */
export interface TableDatabase {
  /** Returns the columns of a table; undefined when the table does not exist. */
  columns(table: string): Promise<TableColumns | undefined>;
  /** Returns the number of tables in the schema. */
  countTables(): Promise<number>;
  /** Creates the table, unless it exists. */
  createTable(table: string, key: string, columns: ReadonlyMap<string, ColumnType>): Promise<void>;
  /** Adds those of the columns that do not exist yet. */
  addColumns(table: string, columns: ReadonlyMap<string, ColumnType>): Promise<void>;
  /** Inserts all records or none. Skips a record whose value in the column `key` exists already. */
  insert(loads: readonly TableLoad[], key: string): Promise<void>;
}

/** An error of the database, with a message for users. */
export class DatabaseFailure extends Error {
  override readonly name = "DatabaseFailure";
  /**
   * `later`: a retry may succeed. `refused`: the database will never accept the rows of this batch.
   */
  readonly kind: "later" | "refused";
  /** Whether the cached columns of the tables may be outdated, so that they must be read again. */
  readonly isStale: boolean;
  /** Whether a failure of kind `later` may be caused by the rows or is the database's own. */
  readonly scope: FailureScope;

  constructor(
    kind: "later" | "refused",
    message: string,
    isStale = false,
    scope: FailureScope = "destination",
  ) {
    super(message);
    this.kind = kind;
    this.isStale = isStale;
    this.scope = scope;
  }
}

export interface TableLoaderOptions {
  mode: "columns" | "raw";
  /** Whether track events are also written to a table for each event name. */
  eventTables: boolean;
  /** Name of the table to which mode `raw` writes. */
  rawTable: string;
  names: WarehouseNames;
}

/**
 * Number of attempts to write a batch, or to add columns to a table, when other writers change the
 * same tables.
 */
const ATTEMPTS_MAX = 3;

/**
 * Writes batches of events to the tables of a database. Creates tables and adds columns when events
 * need them.
 */
export class TableLoader {
  readonly #options: TableLoaderOptions;
  readonly #key: string;
  /** Cached columns by table name. */
  readonly #tables = new Map<string, TableColumns>();
  #tableCount: number | undefined;

  constructor(options: TableLoaderOptions) {
    this.#options = options;
    this.#key = options.mode === "raw" ? "message_id" : "id";
  }

  /** Delivers a batch of events. A `DatabaseFailure` becomes a result; any other error rejects. */
  async load(events: readonly OutgoingEvent[], database: TableDatabase): Promise<DeliveryResult> {
    const refused = new Map<number, string>();
    const rows = events.flatMap((event, index) => {
      return orRefused(refused, index, () => this.#rows(event, index)) ?? [];
    });
    const settled = new Set([...rows.map(({ index }) => index), ...refused.keys()]);
    assert(settled.size === events.length, "Every event of a batch has a row or is refused");
    try {
      const misfits = await this.#write(rows, database);
      for (const [index, reason] of misfits) refused.set(index, reason);
      return { kind: "delivered", ...(refused.size > 0 && { refused }) };
    } catch (error) {
      if (!(error instanceof DatabaseFailure)) throw error;
      const { kind, scope, message: reason } = error;
      if (kind === "refused") return { kind: "rejected", reason };
      return { kind: "retry", reason, ...(scope === "event" && { scope }) };
    }
  }

  #rows(event: OutgoingEvent, index: number): EventRow[] {
    const { mode, rawTable, names, eventTables } = this.#options;
    return mode === "raw"
      ? [rawRow(event, index, rawTable)]
      : rowsOf(event, index, names, eventTables);
  }

  /**
   * Writes rows to their tables. Returns the events whose rows cannot be written: the index of the
   * event, and the reason.
   */
  async #write(rows: readonly EventRow[], database: TableDatabase): Promise<Map<number, string>> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(rows, database);
      } catch (error) {
        // The failed transaction may have rolled back new tables and columns, so the cache may be
        // wrong.
        this.#tables.clear();
        this.#tableCount = undefined;
        const isStale = error instanceof DatabaseFailure && error.isStale;
        if (!isStale || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  async #attempt(rows: readonly EventRow[], database: TableDatabase): Promise<Map<number, string>> {
    const refused = new Map<number, string>();
    const loads: TableLoad[] = [];
    for (const [table, tableRows] of Map.groupBy(rows, (row) => row.table)) {
      const load =
        this.#loadIntoKnown(table, tableRows) ??
        (await this.#loadIntoWidened(table, tableRows, database));
      const misfits = load.refused?.size ?? 0;
      assert(
        load.records.length + misfits === tableRows.length,
        "Every row of a table is written or refused",
      );
      for (const [index, reason] of load.refused ?? []) refused.set(index, reason);
      if (load.records.length > 0) loads.push(load);
    }
    if (loads.length > 0) await database.insert(loads, this.#key);
    return refused;
  }

  /**
   * Converts rows into records of a table whose columns are cached. Undefined when the table is not
   * cached or a value fits no column.
   */
  #loadIntoKnown(table: string, rows: readonly EventRow[]): TableLoad | undefined {
    const columns = this.#tables.get(table);
    if (columns === undefined) return undefined;
    const records: TableRecord[] = [];
    for (const row of rows) {
      const record = wholeRecord(row, columns, this.#options.names);
      if (record === undefined) return undefined;
      records.push(record);
    }
    return { table, columns, records };
  }

  /**
   * Adds the columns that the rows need to a table, or creates the table. Then converts the rows
   * into records.
   */
  async #loadIntoWidened(
    table: string,
    rows: readonly EventRow[],
    database: TableDatabase,
  ): Promise<TableLoad> {
    const { names } = this.#options;
    const columns = await this.#columnsFor(table, rows, database);
    const refused = new Map<number, string>();
    const records = rows.map((row) =>
      orRefused(refused, row.index, () => recordOf(row, columns, names)),
    );
    return { table, columns, records: records.filter((record) => record !== undefined), refused };
  }

  async #columnsFor(
    table: string,
    rows: readonly EventRow[],
    database: TableDatabase,
  ): Promise<TableColumns> {
    let columns = this.#tables.get(table) ?? (await database.columns(table));
    // Another writer may add the same column with another type at the same time.
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const missing = missingColumns(rows, columns ?? new Map(), this.#options.names);
      if (columns !== undefined && missing.size === 0) break;
      if (columns === undefined) {
        await this.#countNewTable(table, database);
        await database.createTable(table, this.#key, missing);
      } else await database.addColumns(table, missing);
      columns = await database.columns(table);
    }
    if (columns === undefined) throw new DatabaseFailure("later", `There is no table ${table}`);
    this.#tables.set(table, columns);
    return columns;
  }

  async #countNewTable(table: string, database: TableDatabase): Promise<void> {
    this.#tableCount ??= await database.countTables();
    if (this.#tableCount >= TABLES_OF_DESTINATION_MAX) {
      throw new DatabaseFailure(
        "refused",
        `Expected at most ${TABLES_OF_DESTINATION_MAX} tables; there is none for ${table}`,
      );
    }
    this.#tableCount += 1;
  }
}

/**
 * Returns the result of `make`. When `make` throws `NoRowError` or `NoColumnError`, adds the event
 * to `refused` and returns undefined.
 */
function orRefused<T>(refused: Map<number, string>, index: number, make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof NoRowError || error instanceof NoColumnError)) throw error;
    refused.set(index, error.message);
    return undefined;
  }
}
