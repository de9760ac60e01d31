import { ApiError } from "../errors.ts";

/** Pause in milliseconds before `whileUnavailable` repeats a call that has failed. */
const RETRY_MS = 250;
/** Default time in milliseconds for which `whileUnavailable` repeats a call that fails. */
const REPEATED_MS_MAX = 5 * 60_000;

/**
 * Calls `call` until it resolves, and returns its result. Rejects at once with any error other than
 * an `unavailable` one, and with an `unavailable` error only after `msMax` milliseconds.
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
