import { AsyncLocalStorage } from "node:async_hooks";

/** Facts about the request for which the current code runs. The audit log records them. */
export interface Caller {
  /** Id of the request's token. Absent for a request without a token, such as a sign-in. */
  tokenId?: string;
  /** Address of the client; absent when it is unknown. */
  client?: string;
  /** Route of the request, such as `PUT /v2/sources/{id}`. */
  route: string;
  /** Id of the request. All audit entries of one request have it. */
  requestId: string;
}

/**
 * Holds the caller of the current request. All code that the request runs and awaits can read it
 * here, so the methods of the catalog and the publisher need no parameter for it.
 */
const callers = new AsyncLocalStorage<Caller>();

/** Calls `run`. Changes of the catalog that `run` makes are recorded as changes by `caller`. */
export function runAs<T>(caller: Caller, run: () => T): T {
  return callers.run(caller, run);
}

/** Returns the caller for whom the current code runs; undefined when the server acts by itself. */
export function currentCaller(): Caller | undefined {
  return callers.getStore();
}
