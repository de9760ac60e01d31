import type { HttpExchange } from "./exchange.ts";
import type { HttpResponse } from "./response.ts";

/** State that the connections of one server share. */
export interface ServerState<Connection> {
  /** Must respond to each exchange once, and must not throw. */
  handle(exchange: HttpExchange): void;
  /** Called when a connection makes its first request. */
  onFirstRequest(connection: Connection): void;
  /** The response to a request that is refused unread: 400, 413, 431, 503 or 505. */
  refusal(status: number): HttpResponse;
  /** Seconds since the server started. */
  seconds: number;
  /** The same time as HTTP writes dates. */
  date: string;
  /** Whether the server stops: then every response ends its connection. */
  isStopping: boolean;
  /** Bytes of requests that connections hold. */
  bufferedBytes: number;
}
