import type { HttpExchange } from "../http/exchange.ts";
import type { HttpResponse } from "../http/response.ts";

/**
 * Functions that make the responses to requests with events. `Taken` is the type that describes the
 * events of one request.
 */
interface FlushResponsesOptions<Taken> {
  /** Returns the response to a request whose events are durable in the log. */
  stored(taken: Taken): HttpResponse;
  /** Returns the response to a request whose events could not be stored. */
  failed(error: unknown, taken: Taken): HttpResponse;
}

/**
 * Creates a function that responds to requests once their records are durable or have failed.
 * Requests that pass the same promise share one callback, because one flush writes the records of
 * many requests.
 */
export function createFlushResponses<Taken>({ stored, failed }: FlushResponsesOptions<Taken>) {
  /**
   * Requests that wait for a flush. The key is the promise that all records of the flush share.
   * `taken[i]` describes the events of the request `exchanges[i]`.
   */
  const flushes = new Map<Promise<void>, { exchanges: HttpExchange[]; taken: Taken[] }>();

  return function respondWhenStored(
    flush: Promise<void>,
    exchange: HttpExchange,
    brought: Taken,
  ): void {
    const waiting = flushes.get(flush);
    if (waiting !== undefined) {
      waiting.exchanges.push(exchange);
      waiting.taken.push(brought);
      return;
    }
    const exchanges = [exchange];
    const taken = [brought];
    flushes.set(flush, { exchanges, taken });
    const respond = (response: (taken: Taken) => HttpResponse) => {
      flushes.delete(flush);
      for (const [index, it] of exchanges.entries()) it.respond(response(taken[index]!));
    };
    flush.then(
      () => respond(stored),
      (error) => respond((it) => failed(error, it)),
    );
  };
}
