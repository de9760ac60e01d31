/** Types of new columns, as in RudderStack's warehouse. */
export type ColumnType = "string" | "int" | "float" | "boolean" | "datetime" | "json";

/** An existing column. */
export interface TableColumn {
  /** `other` is a type that no value is written to. */
  type: ColumnType | "other";
  /** The database's name of the type. */
  sqlType: string;
  /** Longest `string`, in characters. */
  charsMax?: number;
  /** The least and greatest number; of a `datetime`, milliseconds since 1970. */
  range?: readonly [number, number];
}

/** A value to write: JSON text for a column of type `json`. */
export type Cell = string | number | boolean;

/** RFC 3339, and the forms of ISO 8601 that RudderStack reads as a time. */
const timestamp =
  /^[+-]?\d{4}-(0[1-9]|1[0-2])-([12]\d|0[1-9]|3[01])([T\s](([01]\d|2[0-3]):[0-5]\d(:\d+)?)?(:[0-5]\d(\.\d+)?)?([zZ]|[+-]([01]\d|2[0-3]):?([0-5]\d)?)?)?$/;
const ownForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const TIMESTAMP_CHARS_MAX = 64;
const timeMin = Date.parse("0001-01-01T00:00:00Z");
const timeMax = Date.parse("9999-12-31T23:59:59.999Z");
/** One more than the largest 64-bit integer. */
const longMax = 2 ** 63;

/** Parses a time into milliseconds since 1970; undefined for any other value. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== "string" || value.length > TIMESTAMP_CHARS_MAX) return undefined;
  // The first character excludes most texts.
  const first = value.charCodeAt(0);
  if (!(first >= 0x30 && first <= 0x39) && first !== 0x2b && first !== 0x2d) return undefined;
  if (!timestamp.test(value)) return undefined;
  // Some parsers read 30 February as 2 March.
  const day = dayEnd.exec(value);
  if (day !== null && isNoDay(day)) return undefined;
  const ms = Date.parse(value);
  return ms >= timeMin && ms <= timeMax ? ms : undefined;
}

/** A day that some months lack. */
const dayEnd = /^[+-]?(\d{4})-(\d\d)-(29|3\d)/;

function isNoDay([, year, month, day]: RegExpExecArray): boolean {
  return new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate() < Number(day);
}

/** The type of a new column for a value. */
export function typeOf(value: unknown): ColumnType {
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "int" : "float";
  return timeOf(value) === undefined ? "string" : "datetime";
}

/** The type of a column that fits values of both types. */
export function commonType(a: ColumnType, b: ColumnType): ColumnType {
  if (a === b) return a;
  const isNumber = (type: ColumnType) => type === "int" || type === "float";
  return isNumber(a) && isNumber(b) ? "float" : "string";
}

/** Converts a value for a column; undefined when it does not fit. */
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
      // Most texts are in this form already.
      return ownForm.test(value as string) ? (value as string) : new Date(ms).toISOString();
    }
    case "json":
      return cleanJson(JSON.stringify(value));
    default:
      return undefined;
  }
}

function fitText(text: string, charsMax = Number.POSITIVE_INFINITY): string | undefined {
  // A character has at most two UTF-16 units, so that longer texts need no counting.
  if (text.length > 2 * charsMax) return undefined;
  return text.length > charsMax && [...text].length > charsMax ? undefined : text;
}

function fitInteger(value: unknown, range: TableColumn["range"]): number | undefined {
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return within(value, range) && value >= -longMax && value < longMax ? value : undefined;
}

function within(value: number, range: TableColumn["range"]): boolean {
  return range === undefined || (value >= range[0] && value <= range[1]);
}

/** Removes NUL, which PostgreSQL does not store, and replaces lone surrogates. */
export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "") : whole;
}

/** A value as text; arrays and deeply nested objects become JSON. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return cleanText(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const escapes = /\\(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/g;

/** Removes NUL and lone surrogates, both of them escaped, from the output of `JSON.stringify`. */
export function cleanJson(json: string): string {
  if (!json.includes("\\u")) return json;
  return json.replace(escapes, (whole, what: string) => {
    if (what === "u0000") return "";
    return what.length === 5 ? "\ufffd" : whole;
  });
}
