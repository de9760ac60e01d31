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
   * Performs an HTTP request for user code. Rejects with an error whose message contains no
   * internal address and no stack, so that the user may see it. `signal` aborts the request when
   * the batch of events ends, or when the batch has used up its time for requests.
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
