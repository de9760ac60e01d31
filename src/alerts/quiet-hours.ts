import type { QuietHours } from "../catalog/alerts/model.ts";

/**
 * Maximum number of time zones whose formatter is cached. The cache is cleared before one more is
 * added. A formatter takes 15 KB, and a name in other letter case is another name of its zone.
 */
const TIME_ZONES_REMEMBERED_MAX = 500;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether the time zone data of the JavaScript runtime (`Intl`) has a zone with this name. */
export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Whether the time `now` (milliseconds since the epoch) is in the quiet hours. */
export function isQuiet({ from, to, timeZone }: QuietHours, now: number): boolean {
  const time = formatOf(timeZone).format(now);
  return from <= to ? from <= time && time < to : from <= time || time < to;
}

/** Returns a formatter that writes times of day in a time zone as `HH:MM`; these sort by time. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  if (formats.size >= TIME_ZONES_REMEMBERED_MAX) formats.clear();
  formats.set(timeZone, made);
  return made;
}
