import { useEffect, useRef } from "preact/hooks";
import { RequestRefused } from "../../api/client.ts";

/** Time in milliseconds after which a failed load is repeated, if the failure may be temporary. */
const RETRY_MS = 3_000;
/** Maximum time in milliseconds that a load waits because of the server's header Retry-After. */
const RETRY_MS_MAX = 60_000;

/**
 * Thrown when there is no answer to a request that changes something: the server may have made the
 * change before the connection broke.
 */
export class OutcomeUnknown extends TypeError {
  /** Whether sending the request twice has the same effect as sending it once. */
  constructor(readonly isRepeatable: boolean) {
    super();
  }
}

/** Whether an error may be temporary: the server did not answer, or could not at that moment. */
function mayPass(error: unknown): boolean {
  if (error instanceof RequestRefused) return error.status === 429 || error.status >= 500;
  return error instanceof TypeError;
}

/** Returns the milliseconds after which a failed load is repeated. */
export function retryDelayMs(error: unknown): number {
  const seconds = error instanceof RequestRefused ? (error.retryAfter ?? 0) : 0;
  return Math.min(Math.max(seconds * 1_000, RETRY_MS), RETRY_MS_MAX);
}

/** Whether the server has requested a longer delay than the one after other failures. */
export function asksToWait(error: unknown): boolean {
  return mayPass(error) && retryDelayMs(error) > RETRY_MS;
}

/**
 * Calls `load` again some time after each temporary failure. `error` is that of the latest load, a
 * new object for each, and undefined after a success.
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

/**
 * Calls `load` until it succeeds, with a pause after each failure. `setError` gets each failure, and
 * undefined in the end. Returns a function that stops it.
 */
export function loadUntilDone(
  load: () => Promise<unknown>,
  setError: (error: unknown) => void,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  const attempt = () => {
    load().then(
      () => !isStopped && setError(undefined),
      (error) => {
        if (isStopped) return;
        setError(error);
        timer = setTimeout(attempt, retryDelayMs(error));
      },
    );
  };
  attempt();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
