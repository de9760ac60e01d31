import { COLON, DOT, writeAscii, writeDecimal } from "../json/bytes.ts";

const DAY_MS = 86_400_000;
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

/** Writes the date of a day into `dayText`. The day is a number of days since the epoch. */
function writeDay(day: number): void {
  writeAscii(new Date(day * DAY_MS).toISOString().slice(0, dayText.length), dayText, 0);
  dayWritten = day;
}
