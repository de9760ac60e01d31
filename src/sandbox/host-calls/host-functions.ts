/** Request of user code's `fetch` or `fetchV2`. Every field is untrusted input. */
export interface GuestFetchRequest {
  workspaceId: string;
  url: string;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** At most `FETCH_MS_MAX`. */
  timeoutMs: number;
  /** Largest body of the response; a longer one is an error. */
  answerBytesMax: number;
}

export interface GuestFetchResponse {
  url: string;
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/**
 * Performs a request for user code. Rejects with an error whose message the user may read: it has
 * no internal address and no stack. `signal` aborts it when its guest has ended.
 */
export type GuestFetch = (
  request: GuestFetchRequest,
  signal: AbortSignal,
) => Promise<GuestFetchResponse>;

/**
 * Looks up an IP address: a plain object, or null for an unknown address (user code gets an empty
 * object). Throws when the lookup is unavailable.
 */
export type GuestGeolocation = (ip: string) => object | null;

/** Functions of the host that user code may call. Calls of an absent one fail. */
export interface HostFunctions {
  fetch?: GuestFetch | undefined;
  geolocation?: GuestGeolocation | undefined;
}
