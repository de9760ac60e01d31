import {
  type Cell,
  type ColumnType,
  cleanJson,
  commonType,
  fit,
  type NewColumns,
  putRest,
  type RestValues,
  type TableColumn,
  typeOf,
} from "./column-values.ts";
import { type EventRow, NoRowError } from "./event-rows.ts";
import { TABLE_COLUMNS_MAX } from "./limits.ts";
import { restColumn, type WarehouseNames } from "./warehouse-names.ts";

export type TableColumns = Map<string, TableColumn>;
/** A row as it is inserted into the database: values by column name. */
export type TableRecord = { [column: string]: Cell };

/**
 * Types of the columns whose names pixelmill chooses. The type of any other column is determined by
 * the first values for it.
 */
const knownTypes = new Map<string, ColumnType>([
  ...["id", "anonymous_id", "user_id", "event", "event_text", "name", "channel", "message_id"].map(
    (column): [string, ColumnType] => [column, "string"],
  ),
  ...["received_at", "sent_at", "timestamp", "original_timestamp"].map(
    (column): [string, ColumnType] => [column, "datetime"],
  ),
  ["payload", "json"],
  ["type", "string"],
]);

/**
 * Returns the columns that a table needs before rows can be written to it:
 * - each missing column, with its type in `knownTypes` or one that fits all its values;
 * - the text column (`…__text`) beside a column that a value does not fit;
 * - `rest__json`, for all other values. A table with `TABLE_COLUMNS_MAX` columns gets at most this
 *   one.
 */
export function missingColumns(
  rows: readonly EventRow[],
  columns: TableColumns,
  names: WarehouseNames,
): NewColumns {
  const missing = new Map<string, ColumnType>();
  const hasRoom = () => columns.size + missing.size < TABLE_COLUMNS_MAX;
  let needsRest = false;
  const want = (column: string, type: ColumnType) => {
    const known = missing.get(column);
    if (known !== undefined) missing.set(column, commonType(known, type));
    else if (hasRoom()) missing.set(column, type);
    else needsRest = true;
  };
  for (const { cells, rest } of rows) {
    for (const column in rest) needsRest ||= column !== undefined;
    for (const column in cells) {
      const value = cells[column];
      const existing = columns.get(column);
      if (existing === undefined) {
        const type = knownTypes.get(column) ?? typeOf(value);
        want(column, type);
        // The type may be a fixed one, and a number may be infinite.
        if (!isFitting(value, type)) want(names.textColumn(column), "string");
      } else if (fit(value, existing) === undefined) {
        const text = columns.get(names.textColumn(column));
        if (text === undefined) want(names.textColumn(column), "string");
        else if (fit(value, text) === undefined) needsRest = true;
      }
    }
  }
  if (needsRest && !columns.has(restColumn)) missing.set(restColumn, "string");
  return missing;
}

/**
 * Returns the columns of `missing` whose names pixelmill chooses (see `knownTypes`). A new table is
 * created with these only, because the database may refuse a name from an event, and the table with
 * it.
 */
export function initialColumns(missing: NewColumns): NewColumns {
  return new Map([...missing].filter(([column]) => knownTypes.has(column)));
}

function isFitting(value: unknown, type: ColumnType): boolean {
  return fit(value, { type, sqlType: "" }) !== undefined;
}

/**
 * Converts a row into a record, with each value in its column or the text column (`…__text`) beside
 * it. Returns undefined if a value fits neither, or if `rest` needs a missing column `rest__json`.
 */
export function wholeRecord(
  { cells, rest }: EventRow,
  columns: TableColumns,
  names: WarehouseNames,
) {
  // Most values are written as they are, so most records are the cells themselves.
  let record = cells as TableRecord;
  const changed = () => {
    if (record === cells) record = Object.assign(Object.create(null), cells);
    return record;
  };
  for (const column in cells) {
    const value = cells[column];
    const existing = columns.get(column);
    if (existing !== undefined && fit(value, existing) === value) continue;
    if (!put(changed(), column, value, columns, names)) return undefined;
    // The value went into the text column.
    if (record[column] === value) delete record[column];
  }
  for (const _ in rest) return writeRest(changed(), rest, columns) ? record : undefined;
  return record;
}

/**
 * Converts a row into a record. Puts each value into the first of these columns that it fits: its
 * own column, the text column (`…__text`) beside it, the column `rest__json`. Throws `NoRowError`
 * if a value fits none of them.
 */
export function recordOf(
  { table, cells, rest }: EventRow,
  columns: TableColumns,
  names: WarehouseNames,
): TableRecord {
  const record: TableRecord = {};
  const left: RestValues = Object.assign(Object.create(null), rest);
  for (const column in cells) {
    const value = cells[column];
    if (!put(record, column, value, columns, names)) putRest(left, column, value);
  }
  const [first] = Object.keys(left);
  if (first === undefined || writeRest(record, left, columns)) return record;
  throw new NoRowError(
    `The table ${table} has no column that takes the value of ${first}, nor ${restColumn}`,
  );
}

/** Returns the columns of a table for which at least one record has a value. */
export function usedColumns(columns: TableColumns, records: readonly TableRecord[]): TableColumns {
  const used = new Set<string>();
  for (const record of records) for (const name in record) used.add(name);
  return new Map([...columns].filter(([name]) => used.has(name)));
}

function put(
  record: TableRecord,
  column: string,
  value: unknown,
  columns: TableColumns,
  names: WarehouseNames,
): boolean {
  return (
    putInto(record, column, value, columns) ||
    putInto(record, names.textColumn(column), value, columns)
  );
}

function writeRest(record: TableRecord, rest: RestValues, columns: TableColumns): boolean {
  if (!columns.has(restColumn)) return false;
  return putInto(record, restColumn, cleanJson(JSON.stringify(rest)), columns);
}

/** Puts a value into a column if the table has it and the value fits. Returns whether it did. */
function putInto(record: TableRecord, column: string, value: unknown, columns: TableColumns) {
  const existing = columns.get(column);
  const cell = existing && fit(value, existing);
  if (cell !== undefined) record[column] = cell;
  return cell !== undefined;
}
