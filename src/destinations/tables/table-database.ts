import type { ReceiverAnswer } from "../answers/receiver-answer.ts";
import type { FailureScope } from "../destination.ts";
import type { ColumnType } from "./column-values.ts";
import type { TableColumns, TableRecord } from "./table-records.ts";

/** Records to insert into one table, with the events that were left out. */
export interface TableLoad {
  table: string;
  columns: TableColumns;
  records: TableRecord[];
  /**
   * Events that were left out because the table cannot hold their rows: index of the event →
   * reason.
   */
  refused?: ReadonlyMap<number, string>;
  /**
   * Whether a record is merged with the row that has its key: later values, by the column
   * `received_at`, replace earlier ones.
   */
  isMerged?: boolean;
}

/** A table, view or other relation as the database describes it. */
export interface ExistingTable {
  /**
   * Columns of the table. System columns such as `xmin` are included with the type `other`, because
   * no other column can have their names. Empty for a relation to which rows cannot be written,
   * such as an index.
   */
  columns: TableColumns;
  /** Whether the comment of the table begins with `TABLE_MARK`. */
  isMarked: boolean;
  /** Whether the table has the primary or sorting key with which pixelmill creates tables. */
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
  /** Creates the table with the comment `TABLE_MARK`, unless it exists. */
  createTable(
    table: string,
    key: string,
    columns: ReadonlyMap<string, ColumnType>,
    isMerged: boolean,
  ): Promise<void>;
  /** Adds the given columns, except those that exist already. */
  addColumns(
    table: string,
    columns: ReadonlyMap<string, ColumnType>,
    isMerged: boolean,
  ): Promise<void>;
  /**
   * Inserts all records or none. Skips a record whose value in the column `key` exists already,
   * unless the records are merged. `isMerged` is the same for all calls with a table.
   */
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
  /**
   * Whether a failure of kind `later` may be caused by an event, or has its cause in the database.
   */
  readonly scope: FailureScope;
  /** Whether no column can be added to the table: it is a view, or the user lacks a grant. */
  readonly isFixed: boolean;
  /** The database's code of the error, if it has one. */
  readonly code: string | undefined;
  /** The answer of the database; undefined when it did not answer. */
  readonly answer: ReceiverAnswer | undefined;

  constructor(
    kind: "later" | "refused",
    message: string,
    facts: {
      isStale?: boolean;
      isFixed?: boolean;
      scope?: FailureScope;
      code?: string;
      answer?: ReceiverAnswer;
    } = {},
  ) {
    super(message);
    this.kind = kind;
    this.isStale = facts.isStale ?? false;
    this.isFixed = facts.isFixed ?? false;
    this.scope = facts.scope ?? "destination";
    this.code = facts.code;
    this.answer = facts.answer;
  }
}

/**
 * Columns of every table that pixelmill creates for an event name. A table that has them and
 * pixelmill's key, but no mark in its comment, was created by RudderStack, or by pixelmill before
 * it marked its tables.
 */
const eventTableColumns = ["received_at", "event", "event_text"];

/**
 * Whether pixelmill created a table. Clients choose event names freely, so events are written to
 * the table of their name only in this case.
 */
export function isOwn({ columns, isMarked, hasOwnKey }: ExistingTable): boolean {
  return isMarked || (hasOwnKey && eventTableColumns.every((column) => columns.has(column)));
}

/**
 * Returns the columns of a table; undefined when the table does not exist. Throws when rows cannot
 * be written to the relation of this name. Also throws when only a table that pixelmill created may
 * be written to, and it did not create this one.
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
 * Throws the failure that makes the loader describe the tables again, because another program has
 * changed the table.
 */
export function changedByOthers(table: string): never {
  const reason = `Another program changes the table ${table}`;
  throw new DatabaseFailure("later", reason, { isStale: true, scope: "event" });
}
