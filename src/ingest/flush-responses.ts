import type { HttpExchange } from "../http/exchange.ts";
import type { HttpResponse } from "../http/response.ts";

export interface FlushResponsesOptions {
  /** Returns the response to a request whose event is durable in the log. */
  stored(): HttpResponse;
  /** Returns the response to a request whose event could not be stored. */
  failed(error: unknown): HttpResponse;
}

/**
 * Creates a function that responds to requests when the records of their events are durable. All
 * records of one flush have the same promise, so the function adds one callback per flush instead
 * of one per request.
 */
export function createFlushResponses({ stored, failed }: FlushResponsesOptions) {
  /** Requests that wait for a flush, by the promise that the records of the flush share. */
  const flushes = new Map<Promise<void>, HttpExchange[]>();

  return function respondWhenStored(flush: Promise<void>, exchange: HttpExchange): void {
    const waiting = flushes.get(flush);
    if (waiting !== undefined) {
      waiting.push(exchange);
      return;
    }
    const exchanges = [exchange];
    flushes.set(flush, exchanges);
    const respond = (response: () => HttpResponse) => {
      flushes.delete(flush);
      for (const it of exchanges) it.respond(response());
    };
    flush.then(
      () => respond(stored),
      (error) => respond(() => failed(error)),
    );
  };
}
