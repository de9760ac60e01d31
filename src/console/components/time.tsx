import { signal } from "@preact/signals";
import { formatDuration } from "../format.ts";
import { commonTexts } from "../texts/common.ts";

const clock = {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
} as const;
const date = { year: "numeric", month: "short", day: "numeric" } as const;
const timeOfDay = new Intl.DateTimeFormat(undefined, { ...clock, fractionalSecondDigits: 3 });
const dateAndTime = new Intl.DateTimeFormat(undefined, { ...date, ...clock });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "short" });
const hourAndMinute = new Intl.DateTimeFormat(undefined, {
  hour: clock.hour,
  minute: clock.minute,
  hourCycle: clock.hourCycle,
});
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: date.day, month: date.month });

const TICK_MS = 10_000;
/** Ages above this are shown as a date. */
const RELATIVE_MS_MAX = 7 * 86_400_000;
/** The current time, to which ages refer. */
const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, TICK_MS);

/**
 * Shows how long ago a time was, such as `5 min ago`. A future time and one of more than a week ago
 * are shown as a date. With `exact`, shows the time with milliseconds, and the date unless it is
 * today. Hovering or focusing it shows date and time, local and in UTC.
 */
export function Time({ at, exact = false }: { at: string | number; exact?: boolean }) {
  const time = new Date(at);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without a mouse, focus shows the exact time
    <time class="tabular" dateTime={time.toISOString()} title={absoluteTime(time)} tabIndex={0}>
      {exact ? exactTime(time) : relativeTime(time)}
    </time>
  );
}

/** Formats a time of a chart's axis as hour and minute, on a clock of 24 hours. */
export const formatClock = (at: number) => hourAndMinute.format(at);
/** Formats a time of a chart's axis as day and month. */
export const formatDay = (at: number) => dayAndMonth.format(at);

/** Formats a time with its date, on a clock of 24 hours. */
export const formatTime = (at: string | number) => dateAndTime.format(new Date(at));

function relativeTime(time: Date): string {
  const age = Math.max(now.value, Date.now() - TICK_MS) - time.getTime();
  if (age < -TICK_MS || age > RELATIVE_MS_MAX) return dateAndTime.format(time);
  return commonTexts.ago(formatDuration(Math.max(1, Math.round(age / 1_000)), 0));
}

function exactTime(time: Date): string {
  const isToday = day.format(time) === day.format(Date.now());
  return isToday ? timeOfDay.format(time) : dateAndTime.format(time);
}

function absoluteTime(time: Date): string {
  const utc = time.toISOString().replace("T", " ").replace("Z", "");
  return `${dateAndTime.format(time)} (${commonTexts.utc(utc)})`;
}
