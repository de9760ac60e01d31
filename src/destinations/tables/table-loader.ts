import { assert } from "../../assert.ts";
import type { DeliveryResult, OutgoingEvent } from "../destination.ts";
import type { NewColumns } from "./column-values.ts";
import type { TableConfig } from "./config.ts";
import { type EventRow, NoRowError, rawRow, rowsOf, USERS_TABLE } from "./event-rows.ts";
import { KnownTables } from "./known-tables.ts";
import { TABLES_OF_DESTINATION_MAX } from "./limits.ts";
import {
  changedByOthers,
  columnsOf,
  DatabaseFailure,
  type ExistingTable,
  isOwn,
  merged,
  type TableDatabase,
  type TableLoad,
} from "./table-database.ts";
import {
  initialColumns,
  missingColumns,
  recordOf,
  type TableColumns,
  type TableRecord,
  usedColumns,
  wholeRecord,
} from "./table-records.ts";
import { restColumn, type WarehouseNames } from "./warehouse-names.ts";

/** Maximum attempts to write a batch or to add columns while other programs change the tables. */
const ATTEMPTS_MAX = 3;
/**
 * Milliseconds after which the loader checks again which tables accept rows, and which accept
 * further columns. Other programs may have changed the tables.
 */
const OTHERS_MS_MAX = 60_000;
/** Maximum number of names in `#skipped`. When it has more, the loader removes all of them. */
const SKIPPED_NAMES_MAX = 10_000;

/**
 * Writes batches of events to the tables of a database. Creates tables and adds columns when events
 * need them.
 */
export class TableLoader {
  readonly #key: string;
  /**
   * Name of the table in which a record updates the row that has the same key already: `users`.
   * Undefined in mode `raw`.
   */
  readonly #mergedTable: string | undefined;
  readonly #tables = new KnownTables();
  /**
   * Names of tables to which no rows are written, because another program created the tables or
   * pixelmill could not create them.
   */
  readonly #skipped = new Set<string>();
  /** Names of tables to which no column can be added. */
  readonly #fixed = new Set<string>();
  /** Time of `performance.now()` at which `#forgetOthers` was last called. */
  #othersSince = 0;
  #tableCount: number | undefined;

  constructor(
    private readonly config: TableConfig,
    private readonly names: WarehouseNames,
    private readonly database: TableDatabase,
  ) {
    const isRaw = config.mode === "raw";
    this.#key = isRaw ? "message_id" : "id";
    this.#mergedTable = isRaw ? undefined : USERS_TABLE;
  }

  /** Delivers a batch of events. A `DatabaseFailure` becomes a result; other errors are thrown. */
  async load(events: readonly OutgoingEvent[]): Promise<DeliveryResult> {
    try {
      const refused = await this.#write(events);
      return { kind: "delivered", ...(refused.size > 0 && { refused }) };
    } catch (error) {
      if (!(error instanceof DatabaseFailure)) throw error;
      const { kind, scope, message: reason, answer } = error;
      const cause = { reason, ...(answer !== undefined && { answer }) };
      if (kind === "refused") return { kind: "rejected", ...cause };
      return { kind: "retry", ...cause, ...(scope === "event" && { scope }) };
    }
  }

  /**
   * Makes the rows of events. For an event from which no row can be made, adds the index of the
   * event and the reason to `refused`.
   */
  #rows(events: readonly OutgoingEvent[], refused: Map<number, string>): EventRow[] {
    const { mode, rawTable = "events", eventTables = false } = this.config;
    const mayNameTable = (table: string) =>
      (eventTables || table === USERS_TABLE) && !this.#skipped.has(table);
    const rows = events.flatMap((event, index) => {
      const make = () =>
        mode === "raw"
          ? [rawRow(event, index, rawTable)]
          : rowsOf(event, index, this.names, mayNameTable);
      return orRefused(refused, index, make) ?? [];
    });
    const settled = new Set([...rows.map(({ index }) => index), ...refused.keys()]);
    assert(settled.size === events.length, "Every event of a batch has a row or is refused");
    return rows;
  }

  /**
   * Writes events to their tables. Returns a map with the index of each refused event and the
   * reason.
   */
  async #write(events: readonly OutgoingEvent[]): Promise<Map<number, string>> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(events);
      } catch (error) {
        // After other failures, such as a timeout, the cache stays: each new name costs a query,
        // and a batch with many names may need several attempts.
        if (!(error instanceof DatabaseFailure && error.isStale)) throw error;
        this.#tables.clear();
        this.#forgetOthers();
        if (attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  /**
   * Deletes cached facts that other programs may change: which tables get no rows or no further
   * columns, and how many tables exist. The loader asks the database again when it needs one of
   * them.
   */
  #forgetOthers(): void {
    this.#tableCount = undefined;
    this.#skipped.clear();
    this.#fixed.clear();
    this.#othersSince = performance.now();
  }

  async #attempt(events: readonly OutgoingEvent[]): Promise<Map<number, string>> {
    const refused = new Map<number, string>();
    const isOld = performance.now() - this.#othersSince > OTHERS_MS_MAX;
    if (isOld || this.#skipped.size > SKIPPED_NAMES_MAX) this.#forgetOthers();
    let rows = this.#rows(events, refused);
    if (await this.#findSkipped(rows)) rows = this.#rows(events, refused);
    const loads: TableLoad[] = [];
    for (const [table, tableRows] of Map.groupBy(rows, (row) => row.table)) {
      const load =
        this.#loadIntoKnown(table, tableRows) ?? (await this.#loadIntoWidened(table, tableRows));
      const misfits = load.refused?.size ?? 0;
      assert(
        load.records.length + misfits === tableRows.length,
        "Every row of a table is written or refused",
      );
      for (const [index, reason] of load.refused ?? []) refused.set(index, reason);
      if (load.records.length > 0) loads.push(table === this.#mergedTable ? merged(load) : load);
    }
    if (loads.length > 0) await this.database.insert(loads, this.#key);
    return refused;
  }

  /**
   * Creates missing tables for rows with `isOwnOnly`. Adds tables that cannot be created, or that
   * another program created, to `#skipped`. Returns whether a table was added to `#skipped`: the
   * caller must then make the rows again.
   */
  async #findSkipped(rows: readonly EventRow[]): Promise<boolean> {
    const named = Map.groupBy(
      rows.filter((row) => row.isOwnOnly),
      ({ table }) => table,
    );
    let isFound = false;
    for (const [table, tableRows] of named) {
      if (this.#tables.get(table) !== undefined) continue;
      const existing =
        (await this.database.describe(table)) ??
        ((await this.#mayCreate(table)) ? await this.#create(table, tableRows) : undefined);
      if (existing !== undefined && isOwn(existing)) this.#tables.set(table, existing.columns);
      else {
        this.#skipped.add(table);
        isFound = true;
      }
    }
    return isFound;
  }

  /**
   * Converts rows into records for the columns in the cached description of the table. Returns
   * undefined when the table is not in the cache, or when a value needs a further column.
   */
  #loadIntoKnown(table: string, rows: readonly EventRow[]): TableLoad | undefined {
    const columns = this.#tables.get(table);
    if (columns === undefined) return undefined;
    const records: TableRecord[] = [];
    for (const row of rows) {
      const record = wholeRecord(row, columns, this.names);
      if (record === undefined) return undefined;
      records.push(record);
    }
    return { table, columns: usedColumns(columns, records), records };
  }

  /**
   * Creates the table if it is missing, and adds the columns that the rows need. Returns the rows
   * as records, which the caller inserts. If a row does not fit the table, its event is in
   * `refused`.
   */
  async #loadIntoWidened(table: string, rows: readonly EventRow[]): Promise<TableLoad> {
    const columns = await this.#columnsFor(table, rows);
    const refused = new Map<number, string>();
    const records = rows
      .map((row) => orRefused(refused, row.index, () => recordOf(row, columns, this.names)))
      .filter((record) => record !== undefined);
    return { table, columns: usedColumns(columns, records), records, refused };
  }

  async #columnsFor(table: string, rows: readonly EventRow[]): Promise<TableColumns> {
    const { isOwnOnly } = rows[0]!;
    const read = async () => columnsOf(table, isOwnOnly, await this.database.describe(table));
    let columns = this.#tables.get(table) ?? (await read());
    if (columns === undefined) {
      const created = await this.#create(table, rows);
      columns = columnsOf(table, isOwnOnly, created) ?? changedByOthers(table);
    }
    // Another writer may add the same column with another type at the same time.
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const missing = missingColumns(rows, columns, this.names);
      if (missing.size === 0 || !(await this.#widen(table, columns, missing))) break;
      columns = (await read()) ?? changedByOthers(table);
    }
    this.#tables.set(table, columns);
    return columns;
  }

  /**
   * Adds columns to a table. Returns false if none can be added: the values are then written to the
   * column `rest__json`. Throws if the table lacks this column too, and for other errors.
   */
  async #widen(table: string, columns: TableColumns, missing: NewColumns): Promise<boolean> {
    if (this.#fixed.has(table)) return false;
    try {
      await this.database.addColumns(table, missing, table === this.#mergedTable);
      return true;
    } catch (error) {
      const isFixed = error instanceof DatabaseFailure && error.isFixed;
      if (!isFixed || !columns.has(restColumn)) throw error;
      this.#fixed.add(table);
      return false;
    }
  }

  /**
   * Returns whether a missing table may be created. The table `users` may always be created. A
   * table that is named after an event may be created only while the schema has fewer than
   * `TABLES_OF_DESTINATION_MAX` tables.
   */
  async #mayCreate(table: string): Promise<boolean> {
    if (table === USERS_TABLE) return true;
    this.#tableCount ??= await this.database.countTables();
    return this.#tableCount < TABLES_OF_DESTINATION_MAX;
  }

  /**
   * Creates a table, unless a relation with this name exists. Returns the description of the
   * relation that has this name afterwards, if any.
   */
  async #create(table: string, rows: readonly EventRow[]): Promise<ExistingTable | undefined> {
    const columns = initialColumns(missingColumns(rows, new Map(), this.names));
    await this.database.createTable(table, this.#key, columns, table === this.#mergedTable);
    if (this.#tableCount !== undefined) this.#tableCount += 1;
    return await this.database.describe(table);
  }
}

/**
 * Returns the result of `make`. If `make` throws a `NoRowError`, adds the message of the
 * error to `refused` at `index`, and returns undefined.
 */
function orRefused<T>(refused: Map<number, string>, index: number, make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof NoRowError)) throw error;
    refused.set(index, error.message);
    return undefined;
  }
}
