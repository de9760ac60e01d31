import { assert } from "../../assert.ts";
import type { DeliveryResult, OutgoingEvent } from "../destination.ts";
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

/** Records for one table. */
export interface TableLoad {
  table: string;
  columns: TableColumns;
  records: TableRecord[];
  /** Events whose rows the table cannot hold, by index, with the reason. */
  refused?: ReadonlyMap<number, string>;
}

/** The operations of a database that the loader needs. Methods reject with `DatabaseFailure`. */
export interface TableDatabase {
  /** The columns of a table; undefined when the table does not exist. */
  columns(table: string): Promise<TableColumns | undefined>;
  /** Counts the tables in the schema. */
  countTables(): Promise<number>;
  /** Creates the table, unless it exists. */
  createTable(table: string, key: string, columns: ReadonlyMap<string, ColumnType>): Promise<void>;
  /** Adds the columns that do not exist yet. */
  addColumns(table: string, columns: ReadonlyMap<string, ColumnType>): Promise<void>;
  /** Inserts all records or none; skips a record whose key exists already. */
  insert(loads: readonly TableLoad[], key: string): Promise<void>;
}

/** A failure of the database, with a message for people. */
export class DatabaseFailure extends Error {
  override readonly name = "DatabaseFailure";
  /** `later`: a retry may succeed. `refused`: the database will never accept these rows. */
  readonly kind: "later" | "refused";
  /** Whether the cached columns of the tables may be stale. */
  readonly isStale: boolean;

  constructor(kind: "later" | "refused", message: string, isStale = false) {
    super(message);
    this.kind = kind;
    this.isStale = isStale;
  }
}

export interface TableLoaderOptions {
  mode: "columns" | "raw";
  /** Whether each name of a track event gets a table of its own. */
  eventTables: boolean;
  /** The table that mode `raw` writes to. */
  rawTable: string;
  names: WarehouseNames;
}

/** Attempts at a batch, or at a table, while others change the same tables. */
const ATTEMPTS_MAX = 3;

/** Writes batches of events to tables, which it creates and widens as the events require. */
export class TableLoader {
  readonly #options: TableLoaderOptions;
  readonly #key: string;
  /** Cached columns by table. */
  readonly #tables = new Map<string, TableColumns>();
  #tableCount: number | undefined;

  constructor(options: TableLoaderOptions) {
    this.#options = options;
    this.#key = options.mode === "raw" ? "message_id" : "id";
  }

  /** Delivers a batch. Rejects only with errors other than `DatabaseFailure`. */
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
      return { kind: error.kind === "refused" ? "rejected" : "retry", reason: error.message };
    }
  }

  #rows(event: OutgoingEvent, index: number): EventRow[] {
    const { mode, rawTable, names, eventTables } = this.#options;
    return mode === "raw"
      ? [rawRow(event, index, rawTable)]
      : rowsOf(event, index, names, eventTables);
  }

  /** Writes rows. Returns the events whose rows fit no table, by index, with the reason. */
  async #write(rows: readonly EventRow[], database: TableDatabase): Promise<Map<number, string>> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(rows, database);
      } catch (error) {
        // The failed transaction may have rolled back new tables and columns.
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

  /** The rows as records of the cached columns; undefined if a value fits no column. */
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

  /** The rows as records of the table, after adding the columns that they need. */
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
    // Another writer may add a missing column at the same time, with another type.
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

/** Returns the result of `make`; on `NoRowError` or `NoColumnError` records the event as refused. */
function orRefused<T>(refused: Map<number, string>, index: number, make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof NoRowError || error instanceof NoColumnError)) throw error;
    refused.set(index, error.message);
    return undefined;
  }
}
