import type { ReceiverAnswer } from "../answers/receiver-answer.ts";
import type { FailureScope } from "../destination.ts";
import type { Cell, NewColumns } from "./column-values.ts";
import type { TableColumns, TableRecord } from "./table-records.ts";

/** Records to insert into one table. `refused` lists the events of the batch that get no record. */
export interface TableLoad {
  table: string;
  /** Columns of the table for which at least one record has a value. */
  columns: TableColumns;
  records: TableRecord[];
  /**
   * Events that get no record, by their index in the batch, with the reason: a value of the event
   * fits no column of the table, not even `rest__json`.
   */
  refused?: ReadonlyMap<number, string>;
  /**
   * Whether a record is merged into the existing row with the same key:
   *
   * - true: each column gets the value with the later `received_at` (PostgreSQL) or the value
   *   inserted last (ClickHouse).
   * - false: PostgreSQL drops the record. ClickHouse replaces the row if it has the same
   *   `received_at`, and otherwise adds a row.
   */
  isMerged?: boolean;
}

/** A table, view or other relation as the database describes it. */
export interface ExistingTable {
  /**
   * Columns of the relation. Empty if rows cannot be written to the relation, such as an index.
   * Includes system columns such as `xmin`, with type `other`, because further columns cannot have
   * their names.
   */
  columns: TableColumns;
  /** Whether the comment of the table begins with `TABLE_MARK`. */
  isMarked: boolean;
  /**
   * Whether the primary key of the table (in ClickHouse: its sorting key) is the one that tables
   * created by pixelmill have.
   */
  hasOwnKey: boolean;
}

/** The comment with which pixelmill marks the tables that it creates. */
export const TABLE_MARK = "pixelmill";

/**
 * The database operations that the table loader uses. The methods reject with `DatabaseFailure`.
 */
export interface TableDatabase {
  /** Describes a table; undefined when it does not exist. */
  describe(table: string): Promise<ExistingTable | undefined>;
  /** Returns the number of tables in the schema. */
  countTables(): Promise<number>;
  /** Creates the table with the comment `TABLE_MARK`, unless the table exists. */
  createTable(table: string, key: string, columns: NewColumns, isMerged: boolean): Promise<void>;
  /** Adds to the table those of `columns` that the table does not have yet. */
  addColumns(table: string, columns: NewColumns, isMerged: boolean): Promise<void>;
  /**
   * Inserts the records of all `loads`: all or none (ClickHouse: all or none for each table).
   * Column `key` identifies the existing row (see `isMerged`). Loads for the same table must have
   * the same `isMerged`.
   */
  insert(loads: readonly TableLoad[], key: string): Promise<void>;
}

/** Thrown when an operation of the database fails. The message is shown to users. */
export class DatabaseFailure extends Error {
  override readonly name = "DatabaseFailure";
  /** Whether another program may have changed a table. Its columns must then be read again. */
  readonly isStale: boolean = false;
  /**
   * Possible causes of a failure of kind `later`. With `event`, an event of the batch or the
   * database may be the cause. With `destination` (the default), only the database may be the
   * cause.
   */
  readonly scope: FailureScope = "destination";
  /** Whether no column can be added to the table: it is a view, or the user lacks the right. */
  readonly isFixed: boolean = false;
  /** Error code from the database, such as an SQLSTATE; undefined when it sent none. */
  readonly code: string | undefined;
  /** The answer of the database; undefined when it did not answer. */
  readonly answer: ReceiverAnswer | undefined;

  /**
   * Creates a failure. `kind` is `later` if a retry may succeed, and `refused` if the database will
   * never accept the rows of this batch. `facts` sets the other fields, which otherwise have their
   * defaults.
   */
  constructor(
    readonly kind: "later" | "refused",
    message: string,
    facts: Partial<Omit<DatabaseFailure, keyof Error | "kind">> = {},
  ) {
    super(message);
    Object.assign(this, facts);
  }
}

/**
 * Columns that pixelmill creates in each table named after an event. A table with these columns and
 * the primary key of pixelmill's tables counts as created by pixelmill or RudderStack, even without
 * `TABLE_MARK`, which RudderStack and earlier versions do not set.
 */
const eventTableColumns = ["received_at", "event", "event_text"];

/**
 * Whether pixelmill or RudderStack created a table. Clients choose event names freely, and may
 * choose the name of any table. An event is therefore written to the table named after the event
 * only if this is true.
 */
export function isOwn({ columns, isMarked, hasOwnKey }: ExistingTable): boolean {
  return isMarked || (hasOwnKey && eventTableColumns.every((column) => columns.has(column)));
}

/**
 * Returns the columns of the relation `existing`, or undefined if it does not exist. Throws
 * `DatabaseFailure` if rows cannot be written to it, or if `isOwnOnly` is true and neither
 * pixelmill nor RudderStack created it.
 */
export function columnsOf(
  table: string,
  isOwnOnly: boolean,
  existing: ExistingTable | undefined,
): TableColumns | undefined {
  if (existing !== undefined && isOwnOnly && !isOwn(existing)) changedByOthers(table);
  if (existing?.columns.size === 0) {
    const reason = `Expected a table or view of the name ${table}`;
    throw new DatabaseFailure("later", reason, { scope: "event" });
  }
  return existing?.columns;
}

/**
 * Throws a `DatabaseFailure` with `isStale`: another program has changed the table. The loader must
 * then read the descriptions of its tables again.
 */
export function changedByOthers(table: string): never {
  const reason = `Another program changes the table ${table}`;
  throw new DatabaseFailure("later", reason, { isStale: true, scope: "event" });
}

/**
 * Returns the load of the table `users` with one record per user. Each column has the value with
 * the latest `received_at`. Records are sorted by user id, so that concurrent writers lock rows in
 * the same order.
 */
export function merged(load: TableLoad): TableLoad {
  const byId = new Map<string, TableRecord>();
  for (const record of load.records) {
    const id = String(record.id);
    const known = byId.get(id);
    const isOlder = known !== undefined && isEarlier(record, known);
    byId.set(id, isOlder ? { ...record, ...known } : { ...known, ...record });
  }
  const records = [...byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record);
  return { ...load, records, isMerged: true };
}

function isEarlier(
  { received_at: one }: TableRecord,
  { received_at: other }: TableRecord,
): boolean {
  return one !== undefined && other !== undefined && digitsOf(one) < digitsOf(other);
}

// With its `Z`, a time would sort behind one of the same millisecond that also has microseconds.
const digitsOf = (time: Cell) => String(time).replace("Z", "");
