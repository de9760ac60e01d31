import type { HttpResponse } from "./response.ts";

/** A request and the means to respond to it. Its values are valid until the handler returns. */
export interface HttpExchange {
  readonly method: string;
  /** The path of the target as it was sent. */
  readonly path: string;
  /** Raw query without `?`, a character per byte. */
  readonly query: string;
  /** Length of path and query as they were sent. */
  readonly targetBytes: number;
  /** Address of the other end. */
  readonly peer: string;
  /** All lines of `X-Forwarded-For` as one list. */
  forwardedFor(): string;
  /** Sends the response, at once or later. Does nothing when the client has gone. */
  respond(response: HttpResponse): void;
}
