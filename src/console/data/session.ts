import { signal } from "@preact/signals";
import { createClient, RequestRefused } from "../../api/client.ts";
import type { ConsoleSession, Permission } from "./model.ts";
import { clearSampleEvents } from "./sample-events.ts";

/** Session of the signed-in user: undefined while it is loading, null without a signed-in user. */
export const session = signal<ConsoleSession | null | undefined>(undefined);
/**
 * Id of the workspace whose session expired in this tab. Undefined if no session expired, and after
 * a sign-out.
 */
const expiredWorkspaceId = signal<string | undefined>(undefined);
/** Whether the session expired, in which case the sign-in form says so. */
export const isExpired = signal(false);

export const client = createClient({ baseUrl: "", fetch: fetchSignedIn as typeof fetch });

async function fetchSignedIn(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.status === 401 && session.value) {
    isExpired.value = true;
    expiredWorkspaceId.value = session.value.workspace.id;
    session.value = null;
  }
  return response;
}

/** Returns the first permission that the session lacks, or undefined when it has all of them. */
export function missingPermission(...needed: (Permission | undefined)[]): Permission | undefined {
  const granted = session.value?.permissions ?? [];
  return needed.find((permission) => permission !== undefined && !granted.includes(permission));
}

/**
 * Loads the session that belongs to the browser's session cookie. Sets the session to null when the
 * server refuses the cookie.
 */
export async function restoreSession(): Promise<void> {
  try {
    session.value = (await client.call("GET /v2/session")).session;
  } catch (error) {
    if (error instanceof RequestRefused && error.status === 401) session.value = null;
    else throw error;
  }
}

export async function signIn(token: string): Promise<void> {
  const created = (await client.call("POST /v2/session", { body: { token } })).session;
  // Another workspace's user in this tab must not see the sample events.
  if (created.workspace.id !== expiredWorkspaceId.value) clearSampleEvents();
  session.value = created;
  isExpired.value = false;
}

export async function signOut(): Promise<void> {
  await client.call("DELETE /v2/session");
  expiredWorkspaceId.value = undefined;
  clearSampleEvents();
  isExpired.value = false;
  session.value = null;
}
