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
const exactDateAndTime = new Intl.DateTimeFormat(undefined, {
  ...date,
  ...clock,
  fractionalSecondDigits: 3,
});
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "short" });
const hourAndMinute = new Intl.DateTimeFormat(undefined, { ...clock, second: undefined });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: date.day, month: date.month });

const TICK_MS = 10_000;
const MINUTE_MS = 60_000;
/**
 * Maximum age, in milliseconds, of a time that is shown as its age, such as `5 min ago`. An older
 * time is shown as a date.
 */
const RELATIVE_MS_MAX = 7 * 86_400_000;
/** The current time, for computing ages. It is updated every `TICK_MS`. */
const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, TICK_MS);

/**
 * Shows a time as its age, or as a date if it is in the future or more than a week ago. With
 * `exact`, shows the time of day with milliseconds, after the date unless it is today.
 */
export function Time({ at, exact = false }: { at: string | number; exact?: boolean }) {
  const time = new Date(at);
  return <TimeElement time={time}>{exact ? exactTime(time) : relativeTime(time)}</TimeElement>;
}

/** Shows for how long a state has lasted or, after a week, on which date it began. */
export function Since({ at }: { at: string | number }) {
  const time = new Date(at);
  const shown = relativeTime(time, commonTexts.lasts, commonTexts.since);
  return <TimeElement time={time}>{shown}</TimeElement>;
}

/**
 * Shows the age of a time that is known only to the minute, such as `5 min ago` or `less than 1 min
 * ago`. `at` is the start of the minute.
 */
export function MinuteTime({ at }: { at: string }) {
  const time = new Date(at);
  const age = ageOf(time);
  const wholeMinutesAgo = new Date(time.getTime() + (age % MINUTE_MS));
  return (
    <TimeElement time={time} title={commonTexts.inMinute(absoluteTime(time))}>
      {age < MINUTE_MS
        ? commonTexts.lessThanAgo(formatDuration(MINUTE_MS / 1_000))
        : relativeTime(wholeMinutesAgo)}
    </TimeElement>
  );
}

function TimeElement(props: { time: Date; title?: string; children: string }) {
  const { time, title = absoluteTime(time), children } = props;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without a mouse, focus shows the exact time
    <time class="tabular" dateTime={time.toISOString()} title={title} tabIndex={0}>
      {children}
    </time>
  );
}

/** Formats a time as hour and minute on a 24-hour clock, for the axis of a chart. */
export const formatClock = (at: number) => hourAndMinute.format(at);
/** Formats a time as day and month, for the axis of a chart. */
export const formatDay = (at: number) => dayAndMonth.format(at);

/** Formats a time with its date, on a 24-hour clock. */
export const formatTime = (at: string | number) => dateAndTime.format(new Date(at));

/**
 * Returns the milliseconds since a time. Makes the calling component render again every `TICK_MS`.
 */
const ageOf = (time: Date) => Math.max(now.value, Date.now() - TICK_MS) - time.getTime();

/**
 * Returns a text that says how long ago a time was or, for a time in the future or more than
 * `RELATIVE_MS_MAX` ago, a text with its date.
 */
function relativeTime(
  time: Date,
  ofAge = commonTexts.ago,
  ofDate = (date: string) => date,
): string {
  const age = ageOf(time);
  if (age < -TICK_MS || age > RELATIVE_MS_MAX) return ofDate(dateAndTime.format(time));
  return ofAge(formatDuration(Math.max(1, Math.round(age / 1_000)), 0));
}

function exactTime(time: Date): string {
  const isToday = day.format(time) === day.format(Date.now());
  return (isToday ? timeOfDay : exactDateAndTime).format(time);
}

function absoluteTime(time: Date): string {
  const utc = time.toISOString().replace("T", " ").replace("Z", "");
  return `${dateAndTime.format(time)} (${commonTexts.utc(utc)})`;
}
