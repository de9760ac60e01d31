import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { STATUS_PAGE_MAX } from "../../settings/limits.ts";
import { client, missingOneOf, session } from "./session.ts";

export type NamedKind = "source" | "destination" | "transformation";

/**
 * Functions that return an item's name by its id, one for each kind of item. A function returns the
 * id until the name is loaded.
 */
export type NameLookup = Record<NamedKind, (id: string) => string>;

/** Milliseconds after which a shown name is requested again, because it may have changed. */
const FRESH_MS = 30_000;

/**
 * Loaded names by workspace, kind and id. A new map replaces it when names arrive, so that the
 * components that show names are rendered again.
 */
const names = signal<ReadonlyMap<string, string>>(new Map());
/** Milliseconds from a failed request for a name until a look-up may request the name again. */
const RETRY_MS = 3_000;

/**
 * Time (`Date.now()`) at which each item's name was last requested. A failed request sets an
 * earlier time, so that a look-up requests the name again after `RETRY_MS` instead of `FRESH_MS`.
 */
const askedAt = new Map<string, number>();
/** Time (`Date.now()`) at which the server last sent each item's name. */
const answeredAt = new Map<string, number>();
const waiting: Record<NamedKind, Set<string>> = {
  source: new Set(),
  destination: new Set(),
  transformation: new Set(),
};

/**
 * Latest load of the first page of source names and of destination names. `at` is its start
 * (`Date.now()`), and `done` resolves at its end. It is undefined before the first load, and after
 * any failed request for names.
 */
let first: { workspaceId: string | undefined; at: number; done: Promise<unknown> } | undefined;

/**
 * Returns functions that look up names by id. A function returns the id until the name is loaded.
 * Missing names are requested together, many in one request.
 */
export function useNames(): NameLookup {
  const known = names.value;
  useFirstNames();
  return {
    source: (id) => lookUp(known, "source", id),
    destination: (id) => lookUp(known, "destination", id),
    transformation: (id) => lookUp(known, "transformation", id),
  };
}

/**
 * Loads the first page of source names and of destination names in advance, while a screen still
 * loads the rows that will need them.
 */
export function useFirstNames(): void {
  useEffect(loadFirst, []);
}

function loadFirst(): void {
  const workspaceId = session.peek()?.workspace.id;
  const isFresh = first !== undefined && Date.now() - first.at < FRESH_MS;
  if (isFresh && first?.workspaceId === workspaceId) return;
  if (missingOneOf(["events:read", "workspace:admin"]) !== undefined) return;
  const load = (kind: NamedKind) => ask(kind, { count: STATUS_PAGE_MAX });
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
  for (let at = 0; at < unknown.length; at += STATUS_PAGE_MAX) {
    await ask(kind, { ids: unknown.slice(at, at + STATUS_PAGE_MAX).join(",") });
  }
}

/** Requests names and stores them. If this fails, ids are shown until a later request succeeds. */
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
