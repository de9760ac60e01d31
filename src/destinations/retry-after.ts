import { RETRY_AFTER_MS_MAX } from "../settings/limits.ts";

/**
 * Parses a `Retry-After` header: seconds or an HTTP date (RFC 9110 §10.2.3). Returns the delay in
 * milliseconds from `now`, at most `RETRY_AFTER_MS_MAX`, or undefined when the header is missing or
 * malformed.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  // Date.parse reads other texts as dates too, such as 1.5 and 2030.
  if (!/^(\d+$|[A-Z])/i.test(text)) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}
