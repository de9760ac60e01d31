import { signal } from "@preact/signals";
import { type AnswerOf, createClient, RequestRefused } from "../../api/client.ts";
import { clearSampleEvents } from "./sample-events.ts";

export type ConsoleSession = AnswerOf<"GET /v2/session">["session"];
export type Permission = ConsoleSession["permissions"][number];

/** Who is signed in: undefined while it is asked for, null when nobody is. */
export const session = signal<ConsoleSession | null | undefined>(undefined);
/** Why the sign-in is shown again. */
export const ended = signal<string | undefined>(undefined);

/** The workspace of the session that ended in this tab. */
let leftWorkspace: string | undefined;

export const client = createClient({ baseUrl: "", fetch: fetchSignedIn as typeof fetch });

async function fetchSignedIn(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.status === 401 && session.value) {
    ended.value = "Your session has ended. Sign in again to go on where you were.";
    leftWorkspace = session.value.workspace.id;
    session.value = null;
  }
  return response;
}

/** The first permission that the session lacks: what a disabled control names. */
export function missingPermission(...needed: (Permission | undefined)[]): Permission | undefined {
  const has = session.value?.permissions ?? [];
  return needed.find((permission) => permission !== undefined && !has.includes(permission));
}

/** Asks who is signed in, with the cookie that the browser may have. */
export async function restoreSession(): Promise<void> {
  try {
    session.value = (await client.call("GET /v2/session")).session;
  } catch (error) {
    if (error instanceof RequestRefused && error.status === 401) session.value = null;
    else throw error;
  }
}

export async function signIn(token: string): Promise<void> {
  const begun = (await client.call("POST /v2/session", { body: { token } })).session;
  // Events that were picked in one workspace are not for the next reader of this tab.
  if (begun.workspace.id !== leftWorkspace) clearSampleEvents();
  session.value = begun;
  ended.value = undefined;
}

export async function signOut(): Promise<void> {
  await client.call("DELETE /v2/session");
  leftWorkspace = undefined;
  clearSampleEvents();
  ended.value = undefined;
  session.value = null;
}
