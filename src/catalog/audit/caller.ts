import { AsyncLocalStorage } from "node:async_hooks";

/** The request on whose behalf code runs, as the audit log names it. */
export interface Caller {
  /** Token of the request. Absent for a request without a token, such as a sign-in. */
  tokenId?: string;
  /** Address of the client; absent when it is unknown. */
  client?: string;
  /** Route of the request, such as `PUT /v2/sources/{id}`. */
  route: string;
  /** Id of the request, which all audit entries of one request share. */
  requestId: string;
}

/**
 * Carries the caller through all that its request awaits. A parameter would have to pass through
 * every method of the catalog and the publisher, and the entries of a method without it would have
 * no actor.
 */
const callers = new AsyncLocalStorage<Caller>();

/** Runs a function whose changes of the catalog are recorded as the caller's. */
export function runAs<T>(caller: Caller, run: () => T): T {
  return callers.run(caller, run);
}

/** Returns the caller for whom the current code runs; undefined when the server acts by itself. */
export function currentCaller(): Caller | undefined {
  return callers.getStore();
}
