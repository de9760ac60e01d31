import {
  type Cell,
  type ColumnType,
  cleanJson,
  commonType,
  fit,
  type TableColumn,
  typeOf,
} from "./column-values.ts";
import type { EventRow } from "./event-rows.ts";
import { TABLE_COLUMNS_MAX } from "./limits.ts";
import { restColumn, type WarehouseNames } from "./warehouse-names.ts";

export type TableColumns = Map<string, TableColumn>;
/** A row as it is written: cells by column. */
export type TableRecord = { [column: string]: Cell };

/** Types of the columns that every row may have, whatever its first value looks like. */
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
 * Columns that the rows need and the table does not have: one of the type that all its new values
 * have in common, the text twin of one that some value does not fit, and the rest. A table that is
 * full gets no more but the rest.
 */
export function missingColumns(
  rows: readonly EventRow[],
  columns: TableColumns,
  names: WarehouseNames,
): Map<string, ColumnType> {
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
    for (const [column, value] of cells) {
      const there = columns.get(column);
      if (there === undefined) {
        const type = knownTypes.get(column) ?? typeOf(value);
        want(column, type);
        // Its known type may not be that of this value.
        if (knownTypes.has(column) && !isFitting(value, type))
          want(names.textColumn(column), "string");
      } else if (fit(value, there) === undefined) {
        const twin = columns.get(names.textColumn(column));
        if (twin === undefined) want(names.textColumn(column), "string");
        else if (fit(value, twin) === undefined) needsRest = true;
      }
    }
  }
  if (needsRest && !columns.has(restColumn)) missing.set(restColumn, "string");
  return missing;
}

function isFitting(value: unknown, type: ColumnType): boolean {
  return fit(value, { type, sqlType: "" }) !== undefined;
}

/** A value has no column into which it fits; the message names the column. */
export class NoColumnError extends Error {
  override readonly name = "NoColumnError";
}

/**
 * The row as the table takes it: each value in its column, or in its column's twin. Undefined when
 * the table lacks a column for some of it.
 */
export function wholeRecord(
  { cells, rest }: EventRow,
  columns: TableColumns,
  names: WarehouseNames,
) {
  const record: TableRecord = {};
  for (const [column, value] of cells) {
    if (!put(record, column, value, columns, names)) return undefined;
  }
  for (const _ in rest) return putRest(record, rest, columns) ? record : undefined;
  return record;
}

/** As `wholeRecord`, but what has no column goes into the rest. */
export function recordOf(
  { table, cells, rest }: EventRow,
  columns: TableColumns,
  names: WarehouseNames,
): TableRecord {
  const record: TableRecord = {};
  const left = { ...rest };
  for (const [column, value] of cells) {
    if (!put(record, column, value, columns, names)) left[column] = value;
  }
  const [first] = Object.keys(left);
  if (first === undefined || putRest(record, left, columns)) return record;
  throw new NoColumnError(
    `The table ${table} has no column that takes the value of ${first}, nor ${restColumn}`,
  );
}

function put(
  record: TableRecord,
  column: string,
  value: unknown,
  columns: TableColumns,
  names: WarehouseNames,
): boolean {
  const there = columns.get(column);
  const cell = there && fit(value, there);
  if (cell !== undefined) {
    record[column] = cell;
    return true;
  }
  const twin = names.textColumn(column);
  const twinThere = columns.get(twin);
  const twinCell = twinThere && fit(value, twinThere);
  if (twinCell === undefined) return false;
  record[twin] = twinCell;
  return true;
}

function putRest(record: TableRecord, rest: EventRow["rest"], columns: TableColumns): boolean {
  const there = columns.get(restColumn);
  const cell = there && fit(cleanJson(JSON.stringify(rest)), there);
  if (cell !== undefined) record[restColumn] = cell;
  return cell !== undefined;
}
