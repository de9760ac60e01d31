import { ApiError } from "../errors.ts";

/** Pause in milliseconds between two calls. */
const RETRY_MS = 250;
/** Milliseconds for which calls are repeated. */
const REPEATED_MS_MAX = 5 * 60_000;

/**
 * Calls `call`, and again while it rejects with an `unavailable` error, for `msMax` milliseconds.
 * Used by starts of cluster nodes: brokers that answer slowly must not end a start.
 */
export async function whileUnavailable<T>(
  call: () => Promise<T>,
  msMax = REPEATED_MS_MAX,
): Promise<T> {
  const until = performance.now() + msMax;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isUnavailable = error instanceof ApiError && error.refusal === "unavailable";
      if (!isUnavailable || performance.now() > until) throw error;
      await Bun.sleep(RETRY_MS);
    }
  }
}
