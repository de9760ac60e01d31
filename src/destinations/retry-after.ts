import { RETRY_AFTER_MS_MAX } from "../settings/limits.ts";

/**
 * Returns the delay that a `Retry-After` header asks for, in milliseconds from `now`, at most
 * `RETRY_AFTER_MS_MAX`. The header contains seconds or an HTTP date (RFC 9110 §10.2.3). Returns
 * undefined when it is missing or malformed.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  // Date.parse reads other texts as dates too, such as 1.5 and 2030.
  if (!/^(\d+$|[A-Z])/i.test(text)) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}
