import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { client, missingOneOf, session } from "./session.ts";

/** Looks up names of sources and destinations. The name of an unknown id is the id itself. */
export interface NameLookup {
  source(id: string): string;
  destination(id: string): string;
}

export type NamedKind = "source" | "destination";

/** Maximum number of ids in one request. */
const IDS_MAX = 100;
/** Time after which a name that a screen shows is asked for again, since it may have changed. */
const FRESH_MS = 30_000;

/** Names by workspace, kind and id. A new map whenever a name comes. */
const names = signal<ReadonlyMap<string, string>>(new Map());
/** When each name was asked for. */
const askedAt = new Map<string, number>();
const waiting: Record<NamedKind, Set<string>> = { source: new Set(), destination: new Set() };

/**
 * Returns a lookup of names. It asks the server for the names that a screen looks up, all names of
 * one rendering together. Until a name is there, the lookup returns the id.
 */
export function useNames(): NameLookup {
  const known = names.value;
  return useMemo(
    () => ({
      source: (id) => lookUp(known, "source", id),
      destination: (id) => lookUp(known, "destination", id),
    }),
    [known],
  );
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
  const all = [...waiting[kind]];
  waiting[kind].clear();
  if (missingOneOf(["events:read", "workspace:admin"]) !== undefined) return;
  for (let at = 0; at < all.length; at += IDS_MAX) {
    const ids = all.slice(at, at + IDS_MAX);
    const query = { kind, ids: ids.join(",") };
    // After a failure, the screen shows ids, and asks again later.
    const answer = await client.call("GET /v2/status/names", { query }).catch(() => undefined);
    const changed = (answer?.names ?? []).filter(
      ({ id, name }) => names.peek().get(keyOf(kind, id)) !== name,
    );
    if (changed.length === 0) continue;
    const more = changed.map(({ id, name }) => [keyOf(kind, id), name] as const);
    names.value = new Map([...names.peek(), ...more]);
  }
}
