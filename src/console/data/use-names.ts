import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { client, missingOneOf, session } from "./session.ts";

export type NamedKind = "source" | "destination" | "transformation";

/** Looks up names of items by their ids. The name of an unknown id is the id itself. */
export type NameLookup = Record<NamedKind, (id: string) => string>;

/** Maximum number of ids, and of names, in one request. */
const NAMES_MAX = 100;
/** Time after which the console requests a shown name again, since the name may have changed. */
const FRESH_MS = 30_000;

/** Names by workspace, kind and id. Replaced by a new map whenever a name arrives. */
const names = signal<ReadonlyMap<string, string>>(new Map());
/** Time after which a name whose request failed is asked for again. */
const RETRY_MS = 3_000;

/** Time at which each name was requested, and at which it arrived. */
const askedAt = new Map<string, number>();
const answeredAt = new Map<string, number>();
const waiting: Record<NamedKind, Set<string>> = {
  source: new Set(),
  destination: new Set(),
  transformation: new Set(),
};

/** The request for the first names of a workspace, and when it was sent. */
let first: { workspaceId: string | undefined; at: number; done: Promise<unknown> } | undefined;

/**
 * Returns a lookup of names. It loads the first names together with the screen, so that the rows of
 * most workspaces show names from the start. One request for each rendering loads the further names
 * that the screen looks up. Until a name is loaded, the lookup returns the id.
 */
export function useNames(): NameLookup {
  const known = names.value;
  useEffect(loadFirst, []);
  return useMemo(
    () => ({
      source: (id) => lookUp(known, "source", id),
      destination: (id) => lookUp(known, "destination", id),
      transformation: (id) => lookUp(known, "transformation", id),
    }),
    [known],
  );
}

function loadFirst(): void {
  const workspaceId = session.peek()?.workspace.id;
  const isFresh = first !== undefined && Date.now() - first.at < FRESH_MS;
  if (isFresh && first?.workspaceId === workspaceId) return;
  if (missingOneOf(["events:read", "workspace:admin"]) !== undefined) return;
  const load = (kind: NamedKind) => ask(kind, { count: NAMES_MAX });
  const done = Promise.all([load("source"), load("destination")]);
  first = { workspaceId, at: Date.now(), done };
}

const keyOf = (kind: NamedKind, id: string) => [session.peek()?.workspace.id, kind, id].join(" ");

function lookUp(known: ReadonlyMap<string, string>, kind: NamedKind, id: string): string {
  const key = keyOf(kind, id);
  if (id !== "" && Date.now() - (askedAt.get(key) ?? 0) > FRESH_MS) {
    askedAt.set(key, Date.now());
    if (waiting[kind].size === 0) setTimeout(() => void askFor(kind));
    waiting[kind].add(id);
  }
  return known.get(key) ?? id;
}

async function askFor(kind: NamedKind): Promise<void> {
  await first?.done;
  const all = [...waiting[kind]];
  waiting[kind].clear();
  if (missingOneOf(["events:read", "workspace:admin"]) !== undefined) return;
  const since = Date.now() - FRESH_MS;
  const unknown = all.filter((id) => (answeredAt.get(keyOf(kind, id)) ?? 0) < since);
  for (let at = 0; at < unknown.length; at += NAMES_MAX) {
    await ask(kind, { ids: unknown.slice(at, at + NAMES_MAX).join(",") });
  }
}

/** Requests names and adds the new ones. After a failure, the screen shows ids until it asks again. */
async function ask(kind: NamedKind, query: { count: number } | { ids: string }): Promise<void> {
  const answer = await client
    .call("GET /v2/status/names", { query: { ...query, kind } })
    .catch(() => undefined);
  if (answer === undefined) {
    first = undefined;
    const ids = "ids" in query ? query.ids.split(",") : [];
    for (const id of ids) askedAt.set(keyOf(kind, id), Date.now() - FRESH_MS + RETRY_MS);
  }
  const found = (answer?.names ?? []).map(({ id, name }) => [keyOf(kind, id), name] as const);
  for (const [key] of found) answeredAt.set(key, Date.now());
  const changed = found.filter(([key, name]) => names.peek().get(key) !== name);
  if (changed.length > 0) names.value = new Map([...names.peek(), ...changed]);
}
