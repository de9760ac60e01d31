import type { HttpResponse } from "./response.ts";

/**
 * Head of a request that is refused before its body is received. Its properties are valid only
 * until the function that gets this object returns.
 */
export type RefusedRequest = Pick<HttpExchange, "path" | "header">;

/**
 * A request, and the function that responds to it. The request's properties are valid only until
 * the handler returns.
 */
export interface HttpExchange {
  readonly method: string;
  /** The path of the request target, not decoded. */
  readonly path: string;
  /**
   * The query string of the request target without `?`, not decoded, with one character per byte.
   */
  readonly query: string;
  /** Length in bytes of the path and the query string together, with the `?` between them. */
  readonly targetBytes: number;
  /**
   * IP address of the connection's other end, which may be a proxy. Empty when the other end had
   * closed the connection before the server accepted it.
   */
  readonly peer: string;
  /**
   * Returns the values of all headers with this name, joined with commas; undefined when there is
   * none. `name` is in lower case and has letters and hyphens only.
   */
  header(name: string): string | undefined;
  /**
   * Returns the request's body, without the framing of chunks. The buffer stays valid after the
   * handler has returned, unlike the other properties of the request.
   */
  body(): Buffer;
  /**
   * Whether the client has closed its side of the connection. It never becomes false again. May be
   * read after the handler has returned.
   */
  readonly hasClientEnded: boolean;
  /**
   * Sends the response. It may be called after the handler has returned. Does nothing when the
   * connection is closed.
   */
  respond(response: HttpResponse): void;
}
