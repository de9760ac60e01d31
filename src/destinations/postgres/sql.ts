import type { ColumnType, NewColumns, TableColumn } from "../tables/column-values.ts";
import type { TableLoad } from "../tables/table-database.ts";

/** Quotes and escapes a name for use in SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns the quoted name of a table with its schema. */
export function qualified(schema: string, table: string): string {
  return `${quoted(schema)}.${quoted(table)}`;
}

/**
 * SQL types of the columns that pixelmill creates, by column type. RudderStack uses the same types
 * in PostgreSQL.
 */
const sqlTypes: Record<ColumnType, string> = {
  string: "text",
  int: "bigint",
  float: "numeric",
  boolean: "boolean",
  datetime: "timestamp with time zone",
  json: "jsonb",
};

/**
 * Query for a table's columns. Parameters: the schema, the table, and the mark `TABLE_MARK`. Each
 * row has five values of a column:
 *
 * - its name, or null in the only row for a relation without columns to write, such as an index
 * - its type
 * - whether it cannot be written to (generated, identity or system column)
 * - whether the table's comment begins with the mark
 * - whether `id` is the table's primary key
 */
export const tableQuery = `select a.attname, format_type(a.atttypid, a.atttypmod),
  a.attgenerated <> '' or a.attidentity = 'a' or a.attnum < 0,
  coalesce(starts_with(obj_description(c.oid, 'pg_class'), $3), false),
  exists (select 1 from pg_index i join pg_attribute k on k.attrelid = i.indrelid and k.attnum = i.indkey[0]
    where i.indrelid = c.oid and i.indisprimary and i.indnatts = 1 and k.attname = 'id')
from pg_class c join pg_namespace n on n.oid = c.relnamespace
left join pg_attribute a on a.attrelid = c.oid and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'f')
where n.nspname = $1 and c.relname = $2 order by a.attnum`;

/** SQL that counts the tables of a schema. Parameter: the schema. */
export const tableCountQuery = `select count(*) from pg_class c join pg_namespace n
on n.oid = c.relnamespace where n.nspname = $1 and c.relkind in ('r', 'p')`;

/** SQL that selects one row if a schema exists. Parameter: the schema. */
export const schemaQuery = "select 1 from pg_namespace where nspname = $1";

/**
 * Returns a statement that sets timeouts, time zone and date style only for the transaction in
 * which it runs: behind a pooler such as PgBouncer, other programs may use the connection
 * afterwards.
 */
export function transactionSettings(statementMs: number, lockMs: number): string {
  const settings = {
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    timezone: "UTC",
    datestyle: "ISO",
  };
  const calls = Object.entries(settings).map(([name, value]) => {
    return `set_config('${name}', '${value}', true)`;
  });
  return `select ${calls.join(", ")}`;
}

/** Maps the name of an SQL type, without parameters such as a length, to a column's description. */
const columnTypes = new Map<string, Omit<TableColumn, "sqlType">>([
  ["text", { type: "string" }],
  ["bigint", { type: "int" }],
  ["smallint", { type: "int", range: [-32_768, 32_767] }],
  ["integer", { type: "int", range: [-2_147_483_648, 2_147_483_647] }],
  ["double precision", { type: "float" }],
  ["real", { type: "float", isSingle: true }],
  ["boolean", { type: "boolean" }],
  ["timestamp", { type: "datetime" }],
  ["json", { type: "json" }],
  ["jsonb", { type: "json" }],
]);

/**
 * Converts an SQL type, as `format_type` writes it, into the description of a column. The
 * description has the type `other` if events cannot be written to the column.
 */
export function columnOf(sqlType: string, isReadOnly: boolean): TableColumn {
  const [, name = "", first, second] =
    /^([a-z ]+?)(?:\((\d+)(?:,(\d+))?\))?( with(?:out)? time zone)?$/.exec(sqlType) ?? [];
  if (isReadOnly) return { type: "other", sqlType };
  if (name === "character varying") {
    return { type: "string", sqlType, ...(first && { charsMax: Number(first) }) };
  }
  if (name === "numeric") {
    const [digits, scale] = [Number(first), Number(second ?? 0)];
    // The second bound is for numbers of more digits than a double has, which would be rounded up.
    const exact = (10 ** digits - 1) / 10 ** scale;
    const most = Math.min(exact, 10 ** (digits - scale) * (1 - Number.EPSILON));
    return { type: "float", sqlType, ...(first && { range: [-most, most] }) };
  }
  return { type: "other", ...columnTypes.get(name), sqlType };
}

export function createTable(table: string, key: string, columns: NewColumns): string {
  const lines = [...columns].map(([name, type]) => {
    return `${quoted(name)} ${sqlTypes[type]}${name === key ? " primary key" : ""}`;
  });
  return `create table ${table} (${lines.join(", ")})`;
}

export function markTable(table: string, mark: string): string {
  return `comment on table ${table} is '${mark}'`;
}

export function addColumns(table: string, columns: NewColumns): string {
  const lines = [...columns].map(
    ([name, type]) => `add column if not exists ${quoted(name)} ${sqlTypes[type]}`,
  );
  return `alter table ${table} ${lines.join(", ")}`;
}

/**
 * Returns the SQL of a connection test, which creates a table, writes a row, and rolls both back.
 */
export function testStatements(schema: string, schemaExists: boolean, settings: string): string {
  const table = qualified(schema, "pixelmill_connection_test");
  return (
    `begin; ${settings}; ${schemaExists ? "" : `create schema ${quoted(schema)};`} create table ${table} (id text primary key); ` +
    `insert into ${table} values ('test'); rollback`
  );
}

/**
 * Returns the statement that inserts records into a table. Its only parameter is a JSON array of
 * all records, because one array per column would cost pixelmill three times the CPU time.
 */
export function insertRows(
  table: string,
  { columns, isMerged = false }: Pick<TableLoad, "columns" | "isMerged">,
  key: string,
): string {
  const used = [...columns];
  const names = used.map(([name]) => quoted(name)).join(", ");
  // JSON values are strings in the records, so they are stored exactly as written and cannot
  // contain NUL.
  const isJson = ({ type }: TableColumn) => type === "json";
  const values = used.map(([name, column]) => {
    return isJson(column) ? `r.${quoted(name)}::${column.sqlType}` : `r.${quoted(name)}`;
  });
  const types = used.map(([name, column]) => {
    return `${quoted(name)} ${isJson(column) ? "text" : column.sqlType}`;
  });
  const updates = isMerged ? updatesOf(used.map(([name]) => name).filter((it) => it !== key)) : [];
  return (
    `insert into ${table} as t (${names}) select ${values.join(", ")} ` +
    `from json_to_recordset($1::json) as r(${types.join(", ")}) ` +
    `on conflict (${quoted(key)}) do ${updates.length === 0 ? "nothing" : `update set ${updates.join(", ")}`}`
  );
}

/**
 * Returns SQL assignments that merge an inserted row into the existing row with the same key. Each
 * column gets the value of the row with the later `received_at`, or, if this is null, the other
 * row's value.
 */
function updatesOf(names: readonly string[]): string[] {
  const isLater = names.includes("received_at")
    ? "excluded.received_at < t.received_at is not true"
    : "true";
  return names.map(quoted).map((name) => {
    const [ours, theirs] = [`excluded.${name}`, `t.${name}`];
    const [later, earlier] = [`coalesce(${ours}, ${theirs})`, `coalesce(${theirs}, ${ours})`];
    return `${name} = case when ${isLater} then ${later} else ${earlier} end`;
  });
}
