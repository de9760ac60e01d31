import { RequestRefused } from "../../api/client.ts";

/** Time in milliseconds after which a failed load is repeated, where the failure may pass. */
export const RETRY_MS = 3_000;

/**
 * Thrown when there is no answer to a request that changes something: the server may have made the
 * change before the connection broke.
 */
export class OutcomeUnknown extends TypeError {
  /** Whether the request, sent twice, changes no more than when it is sent once. */
  constructor(readonly isRepeatable: boolean) {
    super();
  }
}

/** Whether an error may pass by itself: the server did not answer, or it could not answer now. */
export function mayPass(error: unknown): boolean {
  if (error instanceof RequestRefused) return error.status === 429 || error.status >= 500;
  return error instanceof TypeError;
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
        timer = setTimeout(attempt, RETRY_MS);
      },
    );
  };
  attempt();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
