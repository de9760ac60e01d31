/** Types of the columns that pixelmill creates, the same as in RudderStack's warehouse. */
export type ColumnType = "string" | "int" | "float" | "boolean" | "datetime" | "json";

/** Columns to create: maps the name of each column to its type. */
export type NewColumns = ReadonlyMap<string, ColumnType>;

/** A column of an existing table. */
export interface TableColumn {
  /** Type of the column. Pixelmill never writes to a column of type `other`. */
  type: ColumnType | "other";
  /** Name of the column's type in the database. */
  sqlType: string;
  /** Maximum length in characters of a value in a column of type `string`. Absent if unlimited. */
  charsMax?: number;
  /**
   * Smallest and largest value that the column can store: a number, or a time in milliseconds since
   * the epoch for type `datetime`.
   */
  range?: readonly [number, number];
  /**
   * Whether a `float` column stores 32-bit numbers. A value that 32 bits would turn into zero or
   * infinity does not fit.
   */
  isSingle?: boolean;
}

/**
 * A value in the form that is written to a column. For a column of type `json`, it is JSON text.
 */
export type Cell = string | number | boolean;

/** A value kept as its JSON text, because parsing would round long numbers. */
export class JsonText {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/**
 * Matches a time in RFC 3339, and in the forms of ISO 8601 that RudderStack treats as a time. The
 * groups are the sign, year, month, day, hour, minute, second, fraction and zone.
 */
const timestamp =
  /^([+-]?)(\d{4})-(0[1-9]|1[0-2])-([12]\d|0[1-9]|3[01])(?:[T\s]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d+))?)?([zZ]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/;
const ownForm = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d\.\d{3}Z$/;
const TIMESTAMP_CHARS_MAX = 64;
const timeMin = Date.parse("0001-01-01T00:00:00Z");
const timeMax = Date.parse("9999-12-31T23:59:59.999Z");
/**
 * 2^63, the largest 64-bit integer plus one. An integer is written to a column of type `int` only
 * if its absolute value is smaller than this number.
 */
const longMax = 2 ** 63;

/** A point in time, with a precision of one microsecond. */
interface Time {
  /** Milliseconds since the epoch. */
  ms: number;
  /** The three decimal digits after the milliseconds; empty if all are zeros. */
  micros: string;
}

/**
 * Parses a time. Returns undefined for a value that is not a time from the year 1 to 9999. A time
 * without a zone is in UTC, regardless of the server's time zone.
 */
function timeOf(value: unknown): Time | undefined {
  if (typeof value !== "string" || value.length > TIMESTAMP_CHARS_MAX) return undefined;
  // Checking the first character rules out most texts quickly.
  const first = value.charCodeAt(0);
  if (!(first >= 0x30 && first <= 0x39) && first !== 0x2b && first !== 0x2d) return undefined;
  // Most times have this form, which costs a fifth of the others. Days that some months do not have
  // are left to the slower path below.
  if (ownForm.test(value) && Number(value.slice(8, 10)) < 29) {
    const ms = Date.parse(value);
    return ms >= timeMin && ms <= timeMax ? { ms, micros: "" } : undefined;
  }
  const match = timestamp.exec(value);
  if (match === null) return undefined;
  const [, sign, year, month, day, hour = "00", minute = "00", second = "00"] = match;
  const [fraction = "", zone] = match.slice(8);
  // Years before the year 1 have no column type.
  if (sign === "-" || isNoDay(Number(year), Number(month), Number(day))) return undefined;
  const digits = fraction.padEnd(6, "0");
  const inUtc = Date.parse(
    `${year}-${month}-${day}T${hour}:${minute}:${second}.${digits.slice(0, 3)}Z`,
  );
  const ms = inUtc - offsetMsOf(zone);
  if (!(ms >= timeMin && ms <= timeMax)) return undefined;
  const micros = digits.slice(3, 6);
  return { ms, micros: micros === "000" ? "" : micros };
}

/** Whether a date does not exist, such as 30 February. Some parsers read it as 2 March. */
function isNoDay(year: number, month: number, day: number): boolean {
  return day > 28 && new Date(Date.UTC(year, month, 0)).getUTCDate() < day;
}

/** Returns the offset of a zone such as `+02:00`, `+0200`, `+02` or `Z`, in milliseconds. */
function offsetMsOf(zone = "Z"): number {
  if (zone === "Z" || zone === "z") return 0;
  const minutes = 60 * Number(zone.slice(1, 3)) + Number(zone.slice(3).replace(":", ""));
  return (zone.startsWith("-") ? -60_000 : 60_000) * minutes;
}

/** Returns the type of the column that is created for a value. */
export function typeOf(value: unknown): ColumnType {
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "int" : "float";
  return timeOf(value) === undefined ? "string" : "datetime";
}

/** Returns the type of a column that can store values of type `a` and values of type `b`. */
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
      return typeof value === "number" && isFittingFloat(value, column) ? value : undefined;
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "datetime": {
      const time = timeOf(value);
      if (time === undefined || !within(time.ms, column.range)) return undefined;
      // Most texts already have the form to return here.
      if (ownForm.test(value as string)) return value as string;
      return new Date(time.ms).toISOString().replace("Z", `${time.micros}Z`);
    }
    case "json":
      return cleanJson(jsonOf(value));
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

function isFittingFloat(value: number, { range, isSingle = false }: TableColumn): boolean {
  if (!Number.isFinite(value) || !within(value, range)) return false;
  const single = isSingle ? Math.fround(value) : value;
  return Number.isFinite(single) && (single !== 0 || value === 0);
}

function within(value: number, range: TableColumn["range"]): boolean {
  return range === undefined || (value >= range[0] && value <= range[1]);
}

/** Removes NUL characters, which PostgreSQL cannot store. Replaces lone surrogates by U+FFFD. */
export function cleanText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\0") ? whole.replaceAll("\0", "") : whole;
}

/**
 * Converts a value to text. An array or object becomes its JSON text. A number or boolean is
 * converted with `String`, because JSON would write Infinity, the value of 1e999, as null.
 */
export function textOf(value: unknown): string {
  if (typeof value === "string") return cleanText(value);
  return typeof value === "object" ? cleanJson(jsonOf(value)) : String(value);
}

function jsonOf(value: unknown): string {
  return value instanceof JsonText ? value.text : JSON.stringify(value);
}

const pair = "u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}";
const escapes = new RegExp(`\\\\(${pair}|u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)`, "g");

/** Removes escaped NUL characters from JSON, and replaces escaped lone surrogates by U+FFFD. */
export function cleanJson(json: string): string {
  if (!json.includes("\\u")) return json;
  return json.replace(escapes, (whole, what: string) => {
    if (what === "u0000") return "";
    return what.length === 5 ? "\ufffd" : whole;
  });
}

/**
 * Values of an event that have no column of their own. The column `rest__json` contains all of
 * them. The key of a value is its path in the event (see `KeyPath`).
 */
export type RestValues = Record<string, unknown>;

/** Maps `RestValues` to the last number added to each of their repeated paths (2 for `a_b__2`). */
const lastNumbers = new WeakMap<RestValues, Map<string, number>>();

/**
 * Adds a value that has no column to `rest`, under its path. If the path is taken, a number is
 * appended to it, as in `a_b__2`, because different keys can lead to the same path.
 */
export function putRest(rest: RestValues, path: string, value: unknown): void {
  const clean = cleanText(path);
  let free = clean;
  if (rest[clean] !== undefined) {
    const numbers = lastNumbers.getOrInsertComputed(rest, () => new Map());
    let number = numbers.get(clean) ?? 1;
    while (rest[free] !== undefined) free = `${clean}__${++number}`;
    numbers.set(clean, number);
  }
  rest[free] = value;
}
