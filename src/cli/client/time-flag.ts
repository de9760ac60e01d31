import { StartError } from "../../errors.ts";

/**
 * Matches the beginning of a time in ISO 8601: the year, the month and, if present, the day. The
 * check is needed because `Date.parse` accepts other texts, such as `7` for July 2001.
 */
const ISO_DATE = /^\d{4}-\d\d(-\d\d|$)/;

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Parses the flag `name`, a time in ISO 8601 or a duration before now such as `90s` or `7d`.
 * Returns a time in ISO 8601, or `undefined` without the flag. Throws `StartError` for other
 * values.
 */
export function timeOf(args: Record<string, unknown>, name: string): string | undefined {
  if (args[name] === undefined) return undefined;
  const text = String(args[name]);
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = unit === undefined ? Date.parse(text) : Date.now() - Number(amount) * unitMs[unit]!;
  const isTime = unit !== undefined || ISO_DATE.test(text);
  if (isTime && !Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new StartError(`Expected --${name} as a time such as 2026-02-16T01:11:00Z, 30m, 2h or 7d`);
}

/**
 * Returns the value of the flag `name`, a whole number, or `undefined` without the flag. Throws
 * `StartError` for values other than a whole number of at least 1.
 */
export function countOf(args: Record<string, unknown>, name: string): number | undefined {
  if (args[name] === undefined) return undefined;
  const count = Number(args[name]);
  if (Number.isSafeInteger(count) && count >= 1) return count;
  throw new StartError(`Expected --${name} as a whole number from 1 on`);
}
