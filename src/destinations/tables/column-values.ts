/** Types of the columns that pixelmill creates, the same as in RudderStack's warehouse. */
export type ColumnType = "string" | "int" | "float" | "boolean" | "datetime" | "json";

/** A column of an existing table. */
export interface TableColumn {
  /** Type of the column. Pixelmill never writes to a column of type `other`. */
  type: ColumnType | "other";
  /** Name of the column's type in the database. */
  sqlType: string;
  /** Length in characters of the longest text that fits a column of type `string`. */
  charsMax?: number;
  /**
   * Smallest and largest value that fit the column. For `datetime`, in milliseconds since the
   * epoch.
   */
  range?: readonly [number, number];
}

/**
 * A value in the form that is written to a column. For a column of type `json`, it is JSON text.
 */
export type Cell = string | number | boolean;

/** Matches a time in RFC 3339, and in the forms of ISO 8601 that RudderStack treats as a time. */
const timestamp =
  /^[+-]?\d{4}-(0[1-9]|1[0-2])-([12]\d|0[1-9]|3[01])([T\s](([01]\d|2[0-3]):[0-5]\d(:\d+)?)?(:[0-5]\d(\.\d+)?)?([zZ]|[+-]([01]\d|2[0-3]):?([0-5]\d)?)?)?$/;
const ownForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const TIMESTAMP_CHARS_MAX = 64;
const timeMin = Date.parse("0001-01-01T00:00:00Z");
const timeMax = Date.parse("9999-12-31T23:59:59.999Z");
/** The largest 64-bit integer plus one. */
const longMax = 2 ** 63;

/** Parses a time into milliseconds since the epoch; undefined for a value that is no time. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== "string" || value.length > TIMESTAMP_CHARS_MAX) return undefined;
  // Checking the first character rules out most texts quickly.
  const first = value.charCodeAt(0);
  if (!(first >= 0x30 && first <= 0x39) && first !== 0x2b && first !== 0x2d) return undefined;
  if (!timestamp.test(value)) return undefined;
  // Some parsers read 30 February as 2 March, so the day is checked.
  const day = dayEnd.exec(value);
  if (day !== null && isNoDay(day)) return undefined;
  const ms = Date.parse(value);
  return ms >= timeMin && ms <= timeMax ? ms : undefined;
}

/** Matches a date whose day does not exist in every month: the 29th, 30th or 31st. */
const dayEnd = /^[+-]?(\d{4})-(\d\d)-(29|3\d)/;

function isNoDay([, year, month, day]: RegExpExecArray): boolean {
  return new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate() < Number(day);
}

/** Returns the type of the column that is created for a value. */
export function typeOf(value: unknown): ColumnType {
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "int" : "float";
  return timeOf(value) === undefined ? "string" : "datetime";
}

/** Returns the type of a column that can hold values of both types. */
export function commonType(a: ColumnType, b: ColumnType): ColumnType {
  if (a === b) return a;
  const isNumber = (type: ColumnType) => type === "int" || type === "float";
  return isNumber(a) && isNumber(b) ? "float" : "string";
}

/** Converts a value to the form that is written to a column; undefined when it does not fit. */
export function fit(value: unknown, column: TableColumn): Cell | undefined {
  switch (column.type) {
    case "string":
      return fitText(textOf(value), column.charsMax);
    case "int":
      return fitInteger(value, column.range);
    case "float":
      return typeof value === "number" && within(value, column.range) ? value : undefined;
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "datetime": {
      const ms = timeOf(value);
      const isTime = ms !== undefined && within(ms, column.range);
      if (!isTime) return undefined;
      // Most texts already have the form that is returned here.
      return ownForm.test(value as string) ? (value as string) : new Date(ms).toISOString();
    }
    case "json":
      return cleanJson(JSON.stringify(value));
    default:
      return undefined;
  }
}

function fitText(text: string, charsMax = Number.POSITIVE_INFINITY): string | undefined {
  // A character has one or two UTF-16 units. So the characters of a longer text need not be
  // counted.
  if (text.length > 2 * charsMax) return undefined;
  return text.length > charsMax && [...text].length > charsMax ? undefined : text;
}

function fitInteger(value: unknown, range: TableColumn["range"]): number | undefined {
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  // The smallest integer fits, but its text in JSON, -9223372036854776000, does not.
  return within(value, range) && Math.abs(value) < longMax ? value : undefined;
}

function within(value: number, range: TableColumn["range"]): boolean {
  return range === undefined || (value >= range[0] && value <= range[1]);
}

/** Removes NUL characters, which PostgreSQL cannot store, and replaces lone surrogates. */
export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "") : whole;
}

/** Converts a value to text. Arrays and objects become JSON text. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return cleanText(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const escapes = /\\(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/g;

/**
 * Removes escaped NUL characters and escaped lone surrogates from the output of `JSON.stringify`.
 */
export function cleanJson(json: string): string {
  if (!json.includes("\\u")) return json;
  return json.replace(escapes, (whole, what: string) => {
    if (what === "u0000") return "";
    return what.length === 5 ? "\ufffd" : whole;
  });
}
