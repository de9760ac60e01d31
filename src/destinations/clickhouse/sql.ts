import { createHash } from "node:crypto";
import type { ColumnType, NewColumns, TableColumn } from "../tables/column-values.ts";
import { TABLE_MARK, type TableLoad } from "../tables/table-database.ts";

/** Quotes and escapes a name for use in SQL. */
export function quoted(name: string): string {
  return `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}

function literal(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

const sqlTypes: Record<ColumnType, string> = {
  string: "String",
  int: "Int64",
  float: "Float64",
  boolean: "Bool",
  datetime: "DateTime64(3, 'UTC')",
  json: "String",
};

/** Returns a query for the engine, the sorting key and the comment of a table. */
export function tableQuery(database: string, table: string): string {
  return (
    `select engine, sorting_key, comment from system.tables where database = ${literal(database)} ` +
    `and name = ${literal(table)} format JSONCompactEachRow`
  );
}

/**
 * Returns a query for the columns of a table. A result row begins with the column's name, type and
 * kind of default. With `withVirtual`, the eighth value says whether ClickHouse computes the
 * column, such as `_part`.
 */
export function columnsQuery(table: string, withVirtual: boolean): string {
  const settings = withVirtual ? " settings describe_include_virtual_columns = 1" : "";
  return `describe table ${table} format JSONCompactEachRow${settings}`;
}

export function tableCountQuery(database: string): string {
  return `select count() from system.tables where database = ${literal(database)}`;
}

/**
 * Maps each ClickHouse type for times to the earliest and latest time that it can store, in
 * milliseconds since the epoch. ClickHouse silently replaces a time outside this range by a wrong
 * one.
 */
const times: Record<string, readonly [number, number]> = {
  DateTime: [0, (2 ** 32 - 1) * 1_000],
  DateTime64: [Date.UTC(1900, 0, 1), Date.UTC(2262, 0, 1)],
};

/**
 * Converts a ClickHouse type into the description of a column. The description has the type `other`
 * if events cannot be written to the column.
 */
export function columnOf(sqlType: string, defaultKind: string, isVirtual = false): TableColumn {
  const other: TableColumn = { type: "other", sqlType };
  // A computed column cannot be written to.
  if (isVirtual || defaultKind === "MATERIALIZED" || defaultKind === "ALIAS") return other;
  const bare = sqlType
    .replace(/^SimpleAggregateFunction\(anyLast, (.*)\)$/, "$1")
    .replace(/^LowCardinality\((.*)\)$/, "$1")
    .replace(/^Nullable\((.*)\)$/, "$1");
  const integer = /^(U?)Int(8|16|32|64)$/.exec(bare);
  if (integer !== null) {
    const bits = Number(integer[2]);
    const range = integer[1] ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
    return { type: "int", sqlType, range: range as [number, number] };
  }
  const time = /^(DateTime(?:64)?)\b/.exec(bare)?.[1];
  if (time !== undefined) return { type: "datetime", sqlType, range: times[time]! };
  if (bare === "String") return { type: "string", sqlType };
  if (bare === "Bool") return { type: "boolean", sqlType };
  if (bare === "Float64") return { type: "float", sqlType };
  if (bare === "Float32") return { type: "float", sqlType, isSingle: true };
  return other;
}

/**
 * Column that is part of the sorting key of every table except `users`. When ClickHouse merges
 * parts, or a query uses `final`, only one of the rows with the same sorting key remains.
 */
const timeKey = "received_at";
/**
 * Whether a table has the engine and the sorting key with which `createTable` creates the tables
 * for events.
 */
export function hasOwnKey(engine: string, sortingKey: string): boolean {
  return engine.endsWith("MergeTree") && sortingKey === `${timeKey}, id`;
}

/**
 * Number of deduplication tokens that ClickHouse stores for a table. If the token of an insert is
 * among them, the insert repeats an earlier one, and ClickHouse ignores it.
 */
const TOKENS_KEPT = 1_000;

export function createTable(
  table: string,
  key: string,
  columns: NewColumns,
  isMerged: boolean,
): string {
  const settings = `settings non_replicated_deduplication_window = ${TOKENS_KEPT} comment ${literal(TABLE_MARK)}`;
  const sortingKey = isMerged ? [key] : [timeKey, key];
  const all = isMerged ? columns : new Map([...columns, [timeKey, "datetime" as const]]);
  const lines = [...all].map(([name, type]) => {
    return `${quoted(name)} ${sortingKey.includes(name) ? sqlTypes[type] : valueType(type, isMerged)}`;
  });
  const engine = isMerged
    ? `AggregatingMergeTree order by ${quoted(key)}`
    : `ReplacingMergeTree order by (${timeKey}, ${quoted(key)})`;
  return `create table if not exists ${table} (${lines.join(", ")}) engine = ${engine} ${settings}`;
}

/**
 * Returns the SQL type of a column outside the sorting key. `isMerged` is true for the table
 * `users`, whose columns keep the user's last value that is not null.
 */
function valueType(type: ColumnType, isMerged: boolean): string {
  const nullable = `Nullable(${sqlTypes[type]})`;
  return isMerged ? `SimpleAggregateFunction(anyLast, ${nullable})` : nullable;
}

export function addColumns(table: string, columns: NewColumns, isMerged: boolean): string {
  const lines = [...columns].map(
    ([name, type]) => `add column if not exists ${quoted(name)} ${valueType(type, isMerged)}`,
  );
  return `alter table ${table} ${lines.join(", ")}`;
}

/**
 * Builds the statement that inserts records into a table. It sets all ClickHouse settings that it
 * depends on, because the ClickHouse user's profile may have other values. The deduplication token
 * is a hash of the records and `salt`.
 */
export function insertRows(
  table: string,
  { columns, records }: TableLoad,
  salt: string,
): Uint8Array {
  const names = [...columns.keys()].map(quoted);
  // A list without its brackets: ClickHouse skips commas between rows.
  const rows = Buffer.from(JSON.stringify(records)).subarray(1, -1);
  const token = createHash("sha256").update(rows).update(salt).digest("hex");
  const head =
    `insert into ${table} (${names.join(", ")}) settings insert_deduplication_token = '${token}', ` +
    "date_time_input_format = 'best_effort', input_format_skip_unknown_fields = 0, " +
    "async_insert = 0 format JSONEachRow\n";
  return Buffer.concat([Buffer.from(head), rows]);
}
