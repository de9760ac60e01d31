/**
 * An HTTP request that user code makes with `fetch` or `fetchV2`. `url`, `method`, `headers` and
 * `body` are untrusted input.
 */
export interface GuestFetchRequest {
  workspaceId: string;
  url: string;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Time limit of the request in milliseconds, at most `FETCH_MS_MAX`. */
  timeoutMs: number;
  /** Maximum bytes of the response's body. A longer body makes the request fail. */
  answerBytesMax: number;
}

export interface GuestFetchResponse {
  url: string;
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/**
 * Functions that the server executes for user code. User code that calls an absent function gets an
 * error.
 */
export interface HostFunctions {
  /**
   * Performs an HTTP request for user code, unless `signal` aborts it. Rejects with an error that
   * the user may see: its message contains no internal address and no stack.
   */
  fetch?:
    | ((request: GuestFetchRequest, signal: AbortSignal) => Promise<GuestFetchResponse>)
    | undefined;
  /**
   * Returns the location of an IP address as a plain object, or null when the address is unknown;
   * in this case user code gets an empty object. Throws when no lookup is possible.
   */
  geolocation?: ((ip: string) => object | null) | undefined;
}
