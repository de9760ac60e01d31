import type { HttpExchange } from "../http/exchange.ts";
import type { HttpResponse } from "../http/response.ts";

export interface FlushResponsesOptions {
  /** The response to an exchange whose record is durable. */
  stored(): HttpResponse;
  /** The response to an exchange whose record could not be stored. */
  failed(error: unknown): HttpResponse;
}

/**
 * Responds to exchanges once their records are durable. All records of one flush share the log's
 * promise, so they share one callback here.
 */
export function createFlushResponses({ stored, failed }: FlushResponsesOptions) {
  /** Exchanges whose records are written together, by the promise that they share. */
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
