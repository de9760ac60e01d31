import { COLON, DOT, MINUS, writeDecimal } from "../json/bytes.ts";

const DAY_MS = 86_400_000;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/**
 * Text of the day that was written last, such as `2026-11-20T`. It is reused when the next time is
 * on the same day.
 */
const dayText = new Uint8Array(11);
let dayWritten = Number.NaN;

/**
 * Writes a time, in milliseconds since the epoch (years 0 to 9999), as text such as
 * `2026-11-20T07:31:05.123Z`.
 */
export function writeIsoTime(time: number, into: Uint8Array, offset: number): number {
  const day = Math.floor(time / DAY_MS);
  if (day !== dayWritten) writeDay(day);
  for (let i = 0; i < dayText.length; i++) into[offset + i] = dayText[i]!;

  const ms = (time - day * DAY_MS) | 0;
  const seconds = (ms / 1_000) | 0;
  const minutes = (seconds / 60) | 0;
  let at = writeDecimal((minutes / 60) | 0, 2, into, offset + dayText.length);
  into[at++] = COLON;
  at = writeDecimal(minutes % 60, 2, into, at);
  into[at++] = COLON;
  at = writeDecimal(seconds % 60, 2, into, at);
  into[at++] = DOT;
  at = writeDecimal(ms % 1_000, 3, into, at);
  into[at++] = LETTER_Z;
  return at;
}

/**
 * Writes the date of a day into `dayText`. The day is a number of days since the epoch. The
 * algorithm counts years that begin in March (Howard Hinnant, "chrono-compatible low-level date
 * algorithms").
 */
function writeDay(day: number): void {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const leaps =
    Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leaps) / 365);
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);

  let at = writeDecimal(year, 4, dayText, 0);
  dayText[at++] = MINUS;
  at = writeDecimal(month, 2, dayText, at);
  dayText[at++] = MINUS;
  at = writeDecimal(dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1, 2, dayText, at);
  dayText[at] = LETTER_T;
  dayWritten = day;
}
