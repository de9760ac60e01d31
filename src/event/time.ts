import { COLON, DOT, MINUS, writeDecimal } from "./bytes.ts";

const DAY_MS = 86_400_000;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/** Writes milliseconds since the epoch (years 0 to 9999) as `2026-11-20T07:31:05.123Z`. */
export function writeIsoTime(time: number, into: Uint8Array, offset: number): number {
  const days = Math.floor(time / DAY_MS);
  const ms = time - days * DAY_MS;

  // Civil date from days, with years that begin in March (Howard Hinnant, "chrono-compatible
  // low-level date algorithms").
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);

  let at = writeDecimal(year, 4, into, offset);
  into[at++] = MINUS;
  at = writeDecimal(month, 2, into, at);
  into[at++] = MINUS;
  at = writeDecimal(day, 2, into, at);
  into[at++] = LETTER_T;
  at = writeDecimal(Math.floor(ms / 3_600_000), 2, into, at);
  into[at++] = COLON;
  at = writeDecimal(Math.floor(ms / 60_000) % 60, 2, into, at);
  into[at++] = COLON;
  at = writeDecimal(Math.floor(ms / 1_000) % 60, 2, into, at);
  into[at++] = DOT;
  at = writeDecimal(ms % 1_000, 3, into, at);
  into[at++] = LETTER_Z;
  return at;
}
