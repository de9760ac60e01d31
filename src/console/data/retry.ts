import { useEffect, useRef } from "preact/hooks";
import { RequestRefused } from "../../api/client.ts";

/** Milliseconds before a failed load is repeated, unless the server asks for a longer pause. */
const RETRY_MS = 3_000;
/** Maximum milliseconds before a failed load is repeated, even if Retry-After is longer. */
const RETRY_MS_MAX = 60_000;

/**
 * Thrown if a request that changes something gets no answer. The server may have made the change
 * before the connection broke.
 */
export class OutcomeUnknown extends TypeError {
  /** `isRepeatable` says that sending the request twice has the same effect as sending it once. */
  constructor(readonly isRepeatable: boolean) {
    super();
  }
}

/** Thrown if the server refuses a change because the session has ended. Nothing was changed. */
export class SessionEnded extends Error {}

/** Whether an error may be temporary: no answer, an overloaded server or an internal error. */
function mayPass(error: unknown): boolean {
  if (error instanceof RequestRefused) return error.status === 429 || error.status >= 500;
  return error instanceof TypeError;
}

/** Returns the milliseconds to wait before a load that failed with `error` is repeated. */
export function retryDelayMs(error: unknown): number {
  const seconds = error instanceof RequestRefused ? (error.retryAfter ?? 0) : 0;
  return Math.min(Math.max(seconds * 1_000, RETRY_MS), RETRY_MS_MAX);
}

/** Whether `error` says that clients must wait longer than `RETRY_MS` before the next request. */
export function asksToWait(error: unknown): boolean {
  return mayPass(error) && retryDelayMs(error) > RETRY_MS;
}

/**
 * Calls `load` again, after a pause, whenever its latest call has failed with a temporary error.
 * `error` must be the error of the latest load: a new object after each failure, and undefined
 * after a success.
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
