import { BACKSLASH, COLON, DOT, MINUS, PLUS, QUOTE, SPACE, ZERO } from "../../json/bytes.ts";
import { stringText } from "../../json/json-scanner.ts";

/**
 * Maximum length in bytes of a JSON string, with its quotes, that is parsed as a time. A longer
 * string is no valid time.
 */
const TIME_CHARS_MAX = 40;
const DAY_MS = 86_400_000;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/**
 * Parses the JSON value between two offsets as a time: a string in ISO 8601 form, such as
 * `2026-11-20T07:31:05.123Z`. Returns milliseconds since the epoch; undefined for other values.
 */
export function timeAt(bytes: Buffer, start: number, end: number): number | undefined {
  if (start < 0 || bytes[start] !== QUOTE || end - start > TIME_CHARS_MAX) return undefined;
  let time = readIsoTime(bytes, start + 1, end - 1);
  if (Number.isNaN(time) && bytes.subarray(start, end).includes(BACKSLASH)) {
    const text = Buffer.from(stringText(bytes, start, end));
    time = readIsoTime(text, 0, text.length);
  }
  return Number.isNaN(time) ? undefined : time;
}

/** Earliest and latest time that `writeIsoTime` can write, in milliseconds since the epoch. */
const ISO_TIME_MIN = -62_167_219_200_000;
const ISO_TIME_MAX = 253_402_300_799_999;

/** Whether `writeIsoTime` can write this time: it is in the years 0 to 9999. */
export const isIsoTime = (time: number): boolean => time >= ISO_TIME_MIN && time <= ISO_TIME_MAX;

const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const CASE_BIT = 0x20;

/**
 * The text that is being parsed: `at` is the offset of its next byte, `end` the offset after its
 * last byte. `at` is set to -1 once the text turns out to be no valid time.
 */
const cursor = { at: 0, end: 0 };

/**
 * Parses an ISO 8601 date, or date and time, between two offsets; UTC unless it has a time zone. A
 * space may replace the `T`. Returns milliseconds since the epoch, rounded down; NaN for other text
 * and years outside 0 to 9999.
 */
function readIsoTime(bytes: Uint8Array, start: number, end: number): number {
  cursor.at = start;
  cursor.end = end;
  const year = readNumber(bytes, 4);
  skipByte(bytes, MINUS);
  const month = readNumber(bytes, 2);
  skipByte(bytes, MINUS);
  const day = readNumber(bytes, 2);
  if (cursor.at < 0 || month < 1 || month > 12 || day < 1 || day > MONTH_DAYS[month - 1]!) {
    return Number.NaN;
  }
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month === 2 && day === 29 && !isLeapYear) return Number.NaN;
  const time = daysOf(year, month, day) * DAY_MS + (cursor.at < end ? readDayTime(bytes) : 0);
  return cursor.at === end && isIsoTime(time) ? time : Number.NaN;
}

/**
 * Reads a time of day with an optional offset from UTC. Returns milliseconds since the date's
 * midnight in UTC, which may be negative or more than a day. For invalid text, sets `cursor.at` to
 * -1.
 */
function readDayTime(bytes: Uint8Array): number {
  const separator = bytes[cursor.at++]!;
  if ((separator | CASE_BIT) !== (LETTER_T | CASE_BIT) && separator !== SPACE) return fail();
  const hours = readNumber(bytes, 2);
  skipByte(bytes, COLON);
  const minutes = readNumber(bytes, 2);
  let seconds = 0;
  let ms = 0;
  if (bytes[cursor.at] === COLON) {
    cursor.at++;
    seconds = readNumber(bytes, 2);
    if (cursor.at >= 0 && bytes[cursor.at] === DOT) ms = readFraction(bytes);
  }
  if (hours > 23 || minutes > 59 || seconds > 59) return fail();
  const time = ((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms;
  return cursor.at === cursor.end ? time : time - readOffset(bytes);
}

/**
 * Reads a fraction of a second (a dot and digits) as milliseconds. Digits after the third are
 * ignored.
 */
function readFraction(bytes: Uint8Array): number {
  const first = ++cursor.at;
  let ms = 0;
  let weight = 100;
  for (;;) {
    const digit = bytes[cursor.at]! - ZERO;
    if (!(digit >= 0 && digit <= 9)) break;
    ms += digit * weight;
    weight = weight > 1 ? weight / 10 : 0;
    cursor.at++;
  }
  return cursor.at === first ? fail() : ms;
}

/**
 * Reads an offset from UTC (`Z`, `+01:00`, `+0100` or `+01`). Returns it in milliseconds, positive
 * after a `+`.
 */
function readOffset(bytes: Uint8Array): number {
  const sign = bytes[cursor.at++]!;
  if ((sign | CASE_BIT) === (LETTER_Z | CASE_BIT)) return 0;
  if (sign !== PLUS && sign !== MINUS) return fail();
  const hours = readNumber(bytes, 2);
  if (cursor.at >= 0 && bytes[cursor.at] === COLON) cursor.at++;
  const minutes = cursor.at >= 0 && cursor.at < cursor.end ? readNumber(bytes, 2) : 0;
  if (hours > 23 || minutes > 59) return fail();
  return (sign === MINUS ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function fail(): number {
  cursor.at = -1;
  return 0;
}

function skipByte(bytes: Uint8Array, byte: number): void {
  if (cursor.at >= 0) cursor.at = bytes[cursor.at] === byte ? cursor.at + 1 : -1;
}

function readNumber(bytes: Uint8Array, digits: number): number {
  if (cursor.at < 0) return 0;
  let value = 0;
  for (let i = 0; i < digits; i++) {
    const digit = bytes[cursor.at]! - ZERO;
    if (!(digit >= 0 && digit <= 9)) return fail();
    value = value * 10 + digit;
    cursor.at++;
  }
  return value;
}

/** Converts a date to days since the epoch (Howard Hinnant's algorithm, as in `writeIsoTime`). */
function daysOf(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
