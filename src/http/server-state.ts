import type { HttpExchange } from "./exchange.ts";
import type { HttpResponse } from "./response.ts";

/** State that all connections of one HTTP server share. */
export interface ServerState<Connection> {
  /** Handles a request. It must respond to the exchange exactly once, and must not throw. */
  handle(exchange: HttpExchange): void;
  /** Called when a connection received its first request. */
  onFirstRequest(connection: Connection): void;
  /**
   * Returns the response to a request that is refused before it is handled. `status` is 400, 413,
   * 431, 503 or 505.
   */
  refusal(status: number): HttpResponse;
  /** Current time in seconds since the server started. */
  seconds: number;
  /** Current time in the format of the `Date` header. */
  date: string;
  /** Whether the server is stopping, so that each connection is closed after its next response. */
  isStopping: boolean;
  /** Number of received bytes that all connections together keep in memory. */
  bufferedBytes: number;
}
