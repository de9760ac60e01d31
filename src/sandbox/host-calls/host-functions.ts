/** What user code's `fetch` and `fetchV2` ask for. Everything in it is the user's: trust none. */
export interface GuestFetchRequest {
  workspaceId: string;
  url: string;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** At most `FETCH_MS_MAX`. */
  timeoutMs: number;
  /** Of the answer's body; a longer one is an error. */
  answerBytesMax: number;
}

export interface GuestFetchResponse {
  url: string;
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/**
 * Performs a request for user code. Rejects with an error whose message the user may read: no
 * address of the inside, no stack. `signal` ends it when its guest is gone.
 */
export type GuestFetch = (
  request: GuestFetchRequest,
  signal: AbortSignal,
) => Promise<GuestFetchResponse>;

/**
 * What is known of an IP address, as a plain object; null when nothing is (user code gets an
 * empty object). Throws when it cannot tell now.
 */
export type GuestGeolocation = (ip: string) => object | null;

/** All that user code may ask of the world outside its guest. What is absent fails. */
export interface HostFunctions {
  fetch?: GuestFetch | undefined;
  geolocation?: GuestGeolocation | undefined;
}
