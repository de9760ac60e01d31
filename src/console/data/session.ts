import { signal } from "@preact/signals";
import { createClient, RequestRefused } from "../../api/client.ts";
import type { ConsoleSession, Permission } from "./model.ts";
import { OutcomeUnknown, SessionEnded } from "./retry.ts";
import { claimSampleEvents, clearSampleEvents } from "./sample-events.ts";

/**
 * Session of the signed-in user: undefined while it loads, null if no user is signed in. An expired
 * session stays until the next sign-in, so that the screen keeps what the user has typed.
 */
export const session = signal<ConsoleSession | null | undefined>(undefined);
/** Functions to call at a sign-out. Each deletes something that the user has typed. */
export const onSignOut = new Set<() => void>();
/** Whether the session has expired. If so, the sign-in form covers the screen. */
export const isExpired = signal(false);
/** Number of requests, since the page was loaded, with no answer or a status of 500 or above. */
export const failedRequests = signal(0);

export const client = createClient({ baseUrl: "", fetch: fetchSignedIn as typeof fetch });

/** Time limit in milliseconds for a GET request. */
const READ_MS_MAX = 20_000;
/** Time limit in milliseconds for requests other than GET, some of which run tests of user code. */
const REQUEST_MS_MAX = 180_000;

const SESSION_PATH = "/v2/session";
/**
 * Matches the paths whose POST requests change nothing on the server, so that they can always be
 * sent again: sign-in, test runs, and tests of destinations and receivers.
 */
const WITHOUT_CHANGE = /^\/v2\/(session|run|.*\/test)$/;

async function fetchSignedIn(url: string, init: RequestInit = {}): Promise<Response> {
  const { method = "GET", headers = {} } = init;
  const asking = session.value;
  const limitMs = method === "GET" ? READ_MS_MAX : REQUEST_MS_MAX;
  const response = await fetchWithin(limitMs, url, init).catch((error) => {
    if (error instanceof TypeError) failedRequests.value += 1;
    if (method === "GET" || WITHOUT_CHANGE.test(url) || !(error instanceof TypeError)) throw error;
    throw new OutcomeUnknown(
      method !== "POST" || Object.keys(headers).some((it) => /^if-match$/i.test(it)),
    );
  });
  if (response.status >= 500) failedRequests.value += 1;
  if (response.status !== 401 || !asking || url === SESSION_PATH) return response;
  // A late answer says nothing about a session that began after the request.
  if (session.value === asking) isExpired.value = true;
  // The next session may be of another user, who has not asked for the change.
  if (method !== "GET") throw new SessionEnded();
  await endOf(asking);
  return await fetchSignedIn(url, init);
}

/** Resolves once another session has taken the place of `ended`, or the user has signed out. */
async function endOf(ended: ConsoleSession): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = session.subscribe((current) => {
    if (current !== ended) resolve();
  });
  await promise;
  stop();
}

/**
 * Sends a request and reads its whole answer, or rejects with a `TypeError` after `limitMs`. If the
 * request has a signal, its answer is a stream, and the limit applies only until the stream begins.
 */
async function fetchWithin(limitMs: number, url: string, init: RequestInit): Promise<Response> {
  const limit = new AbortController();
  // The error that `fetch` throws without a connection.
  const timer = setTimeout(() => limit.abort(new TypeError()), limitMs);
  try {
    const signal = AbortSignal.any([limit.signal, ...(init.signal ? [init.signal] : [])]);
    const response = await fetch(url, { ...init, signal });
    if (init.signal || response.body === null) return response;
    const { status, headers } = response;
    const body = await response.arrayBuffer();
    // An answer 204 has an empty stream, and must not get a body.
    return new Response(body.byteLength > 0 ? body : null, { status, headers });
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the first of the needed permissions that the session lacks. Undefined if it has all. */
export function missingPermission(...needed: (Permission | undefined)[]): Permission | undefined {
  const granted = session.value?.permissions ?? [];
  return needed.find((permission) => permission !== undefined && !granted.includes(permission));
}

/**
 * Returns undefined if the session has at least one of the `needed` permissions. If it has none,
 * returns the first one.
 */
export function missingOneOf(needed: readonly Permission[] = []): Permission | undefined {
  const granted = session.value?.permissions ?? [];
  return needed.some((permission) => granted.includes(permission)) ? undefined : needed[0];
}

/**
 * Loads the session that belongs to the browser's session cookie. Sets `session` to null if the
 * server refuses the cookie. Rejects if the request fails for another reason.
 */
export async function restoreSession(): Promise<void> {
  try {
    begin((await client.call("GET /v2/session")).session);
    openRememberedScreen();
  } catch (error) {
    if (!(error instanceof RequestRefused && error.status === 401)) throw error;
    isExpired.value = false;
    session.value = null;
  }
}

/** Returns a text that identifies a session's owner: the workspace and, if any, the member. */
export const ownerOf = ({ workspace, member }: ConsoleSession): string =>
  member === undefined ? workspace.id : `${workspace.id} ${member.id}`;

/**
 * Makes `begun` the current session. If the current session belongs to another user or workspace,
 * reloads the page instead, so that nothing that the earlier user typed is left.
 */
function begin(begun: ConsoleSession): void {
  if (session.value && ownerOf(session.value) !== ownerOf(begun)) {
    location.reload();
    return;
  }
  claimSampleEvents(begun.workspace.id);
  session.value = begun;
  isExpired.value = false;
  otherTabs.postMessage({ owner: ownerOf(begun), tokenId: begun.token.id });
}

/**
 * Signs this page out: forgets the session, the sample events and the unsaved values of forms.
 * Sends nothing to the server. Unsaved code stays in local storage.
 */
function end(): void {
  for (const forget of onSignOut) forget();
  clearSampleEvents();
  isExpired.value = false;
  session.value = null;
}

/**
 * Channel between the browser's tabs with the console, which share one session cookie. A sign-in
 * sends the owner and the token id of the session. A sign-out sends null.
 */
const otherTabs = new BroadcastChannel("pixelmill.session");
otherTabs.onmessage = ({ data: begun }) => {
  const shown = session.value;
  if (shown === undefined) return;
  if (begun === null) end();
  else if (shown && ownerOf(shown) !== begun.owner) location.reload();
  // If the session cannot be loaded, the user can still sign in with the form of this tab.
  else if (isExpired.value || shown?.token.id !== begun.tokenId) restoreSession().catch(() => {});
};

/** Session storage key for the screen to open after a sign-in at the identity provider. */
const SCREEN_KEY = "pixelmill.screen-after-sign-in";

/** Remembers the current screen, to open it after a sign-in at the identity provider. */
export function rememberScreen(): void {
  sessionStorage.setItem(SCREEN_KEY, location.hash);
}

/**
 * Opens the screen that `rememberScreen` stored before a sign-in at the identity provider, unless
 * the address names a screen.
 */
function openRememberedScreen(): void {
  const screen = sessionStorage.getItem(SCREEN_KEY);
  sessionStorage.removeItem(SCREEN_KEY);
  if (screen !== null && location.hash === "") location.hash = screen;
}

export async function signIn(token: string): Promise<void> {
  begin((await client.call("POST /v2/session", { body: { token } })).session);
}

export async function signOut(): Promise<void> {
  await client.call("DELETE /v2/session").catch((error) => {
    if (!(error instanceof RequestRefused && error.status === 401)) throw error;
  });
  otherTabs.postMessage(null);
  end();
}
