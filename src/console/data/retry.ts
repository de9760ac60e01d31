import { useEffect, useRef } from "preact/hooks";
import { RequestRefused } from "../../api/client.ts";

/** Milliseconds before a failed load is repeated, unless the server asks for a longer pause. */
const RETRY_MS = 3_000;
/** Maximum milliseconds before a failed load is repeated, even if Retry-After is longer. */
const RETRY_MS_MAX = 60_000;

/**
 * Thrown if a request for a change gets no answer. The server may or may not have made the change.
 */
export class OutcomeUnknown extends TypeError {
  /**
   * `isRepeatable`: whether sending the request a second time has no further effect. If so, the
   * client can safely send it again.
   */
  constructor(readonly isRepeatable: boolean) {
    super();
  }
}

/** Thrown if the server refuses a request for a change because the session has ended. */
export class SessionEnded extends Error {}

/** Whether an error may be temporary: no answer came, or the server is overloaded or failed. */
function mayPass(error: unknown): boolean {
  if (error instanceof RequestRefused) return error.status === 429 || error.status >= 500;
  return error instanceof TypeError;
}

/** Returns after how many milliseconds to repeat a load that failed with `error`. */
export function retryDelayMs(error: unknown): number {
  const seconds = error instanceof RequestRefused ? (error.retryAfter ?? 0) : 0;
  return Math.min(Math.max(seconds * 1_000, RETRY_MS), RETRY_MS_MAX);
}

/**
 * Whether `error` may be temporary, and the server has asked (with Retry-After) for a pause that is
 * longer than `RETRY_MS`.
 */
export function asksToWait(error: unknown): boolean {
  return mayPass(error) && retryDelayMs(error) > RETRY_MS;
}

/**
 * Calls `load` again, after a pause, each time that it has failed with an error that may be
 * temporary. `error` must be a new object after each failure, and undefined after a success.
 */
export function useRetry(error: unknown, load: () => unknown): void {
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (!mayPass(error)) return;
    const timer = setTimeout(() => latest.current(), retryDelayMs(error));
    return () => clearTimeout(timer);
  }, [error]);
}
