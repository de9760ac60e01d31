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

/** The records for one table. */
export interface TableLoad {
  table: string;
  columns: TableColumns;
  records: TableRecord[];
  /** Rows that have no place in it, by the index of their event, with the reason. */
  refused?: ReadonlyMap<number, string>;
}

/** A database, as far as the loader writes to it. Methods reject with `DatabaseFailure`. */
export interface TableDatabase {
  /** The columns of a table; undefined when the table does not exist. */
  columns(table: string): Promise<TableColumns | undefined>;
  /** The number of tables in the schema. */
  countTables(): Promise<number>;
  /** Makes the table, unless it exists. */
  createTable(table: string, key: string, columns: ReadonlyMap<string, ColumnType>): Promise<void>;
  /** Makes those of the columns that do not exist. */
  addColumns(table: string, columns: ReadonlyMap<string, ColumnType>): Promise<void>;
  /** Inserts all rows or none; a row whose key exists already changes nothing. */
  insert(loads: readonly TableLoad[], key: string): Promise<void>;
}

/** A refusal of the database, with a message for people. */
export class DatabaseFailure extends Error {
  override readonly name = "DatabaseFailure";
  /** `later`: it may work when it is tried again. `refused`: these rows will never be taken. */
  readonly kind: "later" | "refused";
  /** Whether the tables may have changed since they were last looked at. */
  readonly isStale: boolean;

  constructor(kind: "later" | "refused", message: string, isStale = false) {
    super(message);
    this.kind = kind;
    this.isStale = isStale;
  }
}

export interface TableLoaderOptions {
  mode: "columns" | "raw";
  /** Whether track events get a table each, by their names. */
  eventTables: boolean;
  /** The table that mode `raw` writes to. */
  rawTable: string;
  names: WarehouseNames;
}

/** How often tables are looked at again because somebody else changed them meanwhile. */
const LOOKS_MAX = 3;

/** Brings batches of events into tables, which it makes and widens as the events need. */
export class TableLoader {
  readonly #options: TableLoaderOptions;
  readonly #key: string;
  /** The columns of tables, as last seen. */
  readonly #tables = new Map<string, TableColumns>();
  #tableCount: number | undefined;

  constructor(options: TableLoaderOptions) {
    this.#options = options;
    this.#key = options.mode === "raw" ? "message_id" : "id";
  }

  /** Delivers a batch. Rejects only with errors that are no failures of the database. */
  async load(events: readonly OutgoingEvent[], database: TableDatabase): Promise<DeliveryResult> {
    const refused = new Map<number, string>();
    const rows = events.flatMap((event, index) => {
      return orRefused(refused, index, () => this.#rows(event, index)) ?? [];
    });
    try {
      const unplaced = await this.#write(rows, database);
      for (const [index, reason] of unplaced) refused.set(index, reason);
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

  /** Writes the events that find a place. Returns the others by their index, with the reason. */
  async #write(rows: readonly EventRow[], database: TableDatabase): Promise<Map<number, string>> {
    for (let look = 1; ; look++) {
      try {
        return await this.#attempt(rows, database);
      } catch (error) {
        // The failed transaction may also have taken back what was just made of these tables.
        this.#tables.clear();
        this.#tableCount = undefined;
        const isStale = error instanceof DatabaseFailure && error.isStale;
        if (!isStale || look === LOOKS_MAX) throw error;
      }
    }
  }

  async #attempt(rows: readonly EventRow[], database: TableDatabase): Promise<Map<number, string>> {
    const refused = new Map<number, string>();
    const loads: TableLoad[] = [];
    for (const [table, together] of Map.groupBy(rows, (row) => row.table)) {
      const load =
        this.#asItIs(table, together) ?? (await this.#widened(table, together, database));
      for (const [index, reason] of load.refused ?? []) refused.set(index, reason);
      if (load.records.length > 0) loads.push(load);
    }
    if (loads.length > 0) await database.insert(loads, this.#key);
    return refused;
  }

  /** The rows in the columns that the table is known to have, when there is one for all of them. */
  #asItIs(table: string, rows: readonly EventRow[]): TableLoad | undefined {
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

  /** The rows in the table's columns, to which those are added that the rows need. */
  async #widened(
    table: string,
    rows: readonly EventRow[],
    database: TableDatabase,
  ): Promise<TableLoad> {
    const { names } = this.#options;
    const columns = await this.#columnsFor(table, rows, database);
    const refused = new Map<number, string>();
    const placed = rows.map((row) =>
      orRefused(refused, row.index, () => recordOf(row, columns, names)),
    );
    return { table, columns, records: placed.filter((record) => record !== undefined), refused };
  }

  async #columnsFor(
    table: string,
    rows: readonly EventRow[],
    database: TableDatabase,
  ): Promise<TableColumns> {
    let columns = this.#tables.get(table) ?? (await database.columns(table));
    // Somebody else may make a missing column at the same time, of another type.
    for (let look = 0; look < LOOKS_MAX; look++) {
      const missing = missingColumns(rows, columns ?? new Map(), this.#options.names);
      if (columns !== undefined && missing.size === 0) break;
      if (columns === undefined) {
        await this.#expectRoom(table, database);
        await database.createTable(table, this.#key, missing);
      } else await database.addColumns(table, missing);
      columns = await database.columns(table);
    }
    if (columns === undefined) throw new DatabaseFailure("later", `There is no table ${table}`);
    this.#tables.set(table, columns);
    return columns;
  }

  async #expectRoom(table: string, database: TableDatabase): Promise<void> {
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
 * What `make` makes of an event; undefined when no table takes the event, which is then refused.
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
