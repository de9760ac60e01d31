/** This file has the functions that format numbers, durations and names for display. */

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const formatCount = (value: number) => whole.format(value);
/** Formats a number. Shortens numbers of 10,000 and above, such as 12,345 to `12.3K`. */
export const formatCompact = (value: number) =>
  value < 10_000 ? whole.format(value) : short.format(value);

export function formatRate(perSecond: number): string {
  if (perSecond === 0) return "0/s";
  if (perSecond < 0.1) return "<0.1/s";
  return `${perSecond < 10 ? perSecond.toFixed(1) : formatCompact(Math.round(perSecond))}/s`;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];
export function formatBytes(value: number): string {
  const power = Math.min(units.length - 1, value < 1 ? 0 : Math.floor(Math.log2(value) / 10));
  const amount = value / 1024 ** power;
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}

/**
 * Formats a duration in its largest fitting unit, such as `350 ms`, `4.2 s`, `12 min`, `3 h` or `2
 * d`. `decimals` is the number of decimals for durations of 1 to 10 seconds.
 */
export function formatDuration(seconds: number, decimals = 1): string {
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(decimals) : Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/**
 * Formats a duration for the axis of a chart. Uses seconds for 1 to 2 minutes, and minutes for 1 to
 * 2 hours, such as `90 s` instead of `2 min`, so that neighbouring labels differ.
 */
export function formatChartDuration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds >= 60 && seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds >= 3_600 && seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return formatDuration(seconds);
}

export function pluralize(amount: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(amount)} ${amount === 1 ? singular : plural}`;
}

/** Characters of scripts that run right to left, and characters that set the direction of text. */
const DIRECTED =
  /[\p{Bidi_Control}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/**
 * Returns a name with each invisible character that sets the text direction replaced by its code
 * point, such as `[U+202E]`.
 */
export const marked = (name: string) =>
  name.replace(
    /[\u202a-\u202e\u2066-\u2069]/g,
    (it) => `[U+${it.charCodeAt(0).toString(16).toUpperCase()}]`,
  );

/**
 * Returns a name that cannot change the direction of the text beside it. Replaces characters as
 * `marked` does. If the name has a character of `DIRECTED`, also encloses it in Unicode's isolate
 * characters.
 */
export function isolated(name: string): string {
  const shown = marked(name);
  return DIRECTED.test(shown) ? `\u2068${shown}\u2069` : shown;
}
