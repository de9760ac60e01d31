import type { BufferedBytes } from "./buffered-bytes.ts";
import type { HttpExchange, RefusedRequest } from "./exchange.ts";
import type { HttpResponse } from "./response.ts";

/** State that all connections of one HTTP server share. */
export interface ServerState<Connection> {
  /** Handles a request. It must respond to the exchange exactly once, and must not throw. */
  handle(exchange: HttpExchange): void;
  /** Returns the largest size in bytes of the body of a request to this path. */
  bodyBytesMax(path: string): number;
  /** Returns the client network of an IP address; undefined for a trusted proxy. */
  networkOf(address: string): string | undefined;
  /** Called at a connection's first request, so that the connection is not counted as silent. */
  onFirstRequest(connection: Connection): void;
  /**
   * Returns the response to a request that is refused before it is handled. `status` is 400, 413,
   * 431, 503 or 505. `request` is undefined when the request's head is incomplete or invalid.
   */
  refusal(status: number, request: RefusedRequest | undefined): HttpResponse;
  /** Current time in seconds since the server started. */
  seconds: number;
  /** Current time in the format of the `Date` header. */
  date: string;
  /** Whether the server is stopping, so that each connection is closed after its next response. */
  isStopping: boolean;
  /** Counts the received bytes that the connections keep in memory. */
  readonly buffered: BufferedBytes;
}
