import { signal } from "@preact/signals";
import { createClient, RequestRefused } from "../../api/client.ts";
import type { ConsoleSession, Permission } from "./model.ts";
import { clearSampleEvents } from "./sample-events.ts";

/** The signed-in session: undefined while it is loading, null when there is none. */
export const session = signal<ConsoleSession | null | undefined>(undefined);
/** Workspace of the session that expired in this tab; undefined after a sign-out. */
const expiredWorkspaceId = signal<string | undefined>(undefined);
/** True while the sign-in is shown because the session has expired. */
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

/** The first of the permissions that the session lacks; a disabled control names it. */
export function missingPermission(...needed: (Permission | undefined)[]): Permission | undefined {
  const granted = session.value?.permissions ?? [];
  return needed.find((permission) => permission !== undefined && !granted.includes(permission));
}

/** Loads the session of the cookie that the browser may have. */
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
  // Sample events of one workspace must not reach the next user of this tab.
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
