import type { QuietHours } from "../catalog/alerts/model.ts";
import { remembered } from "../remembered.ts";

/**
 * Maximum number of time zones whose formatter is cached. A formatter takes 15 KB, and a client can
 * spell one zone in many ways: a name in another letter case gets its own formatter.
 */
const TIME_ZONES_REMEMBERED_MAX = 500;

/**
 * Returns a formatter that writes the time of day in a time zone as `HH:MM`. Comparing two such
 * texts compares the times.
 */
const formatOf = remembered(
  TIME_ZONES_REMEMBERED_MAX,
  (timeZone: string) =>
    new Intl.DateTimeFormat("en-GB", {
      timeZone,
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    }),
);

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
