import { librariesFor, publishedLibraries } from "./code/closure.ts";
import { familyOf } from "./import-name.ts";
import type { Connection, Destination, Resource, Revision, Source } from "./model.ts";
import { settingsOfSource } from "./source-settings.ts";
import type { CatalogStore, Epoch } from "./store.ts";
import type { CodeTables } from "./tables/code-tables.ts";
import type { Tables } from "./tables/tables.ts";

/**
 * Maximum number of transformations whose published program is cached. When there are more, the
 * program that was built longest ago is removed from the cache.
 */
const LIVE_PROGRAMS_MAX = 4_096;

/**
 * Maximum length of a write key (the public key of a source). A longer one is not searched for.
 * Write keys come from public URLs, and no existing key is longer.
 */
const WRITE_KEY_CHARS_MAX = 128;

export interface LiveProgram {
  /**
   * Id of the combination of transformation, libraries and credentials. Each change of one of these
   * results in a new id.
   */
  id: string;
  workspaceId: string;
  transformation: Revision;
  libraries: Revision[];
  credentials: Record<string, string>;
}

/**
 * Functions that read from the catalog what is needed to accept and deliver events. Only `lanes`
 * and `longestDedupSeconds` read whole tables; the other functions read single rows or short ranges
 * of rows.
 */
export type Live = ReturnType<typeof openLive>;

export function openLive(store: CatalogStore, tables: Tables, code: CodeTables) {
  const { sources, destinations, connections } = tables;
  const current = <T>(epoch: Epoch, make: () => T) => cachedByEpoch(store, epoch, make);
  const bySource = current("topology", () => new Map<string, Source>());
  const programs = programCache(store, tables, code);

  const lanes = heldByEpoch(store, "topology", () => {
    const byDestination = Map.groupBy(connections.all().map(asRoute), (it) => it.destinationId);
    return [...byDestination].flatMap(([id, ofDestination]) => {
      const destination = destinations.find(id);
      return destination && isOurs(destination)
        ? [{ destination, connections: ofDestination }]
        : [];
    });
  });

  const longestDedupSeconds = current("topology", () =>
    sources.all().reduce((max, it) => Math.max(max, settingsOfSource(it).dedupSeconds), 0),
  );

  return {
    /**
     * Returns the longest time in seconds for which any source recognizes repeated events, or 0 if
     * no source does. Reads all sources once after each change of the topology (sources,
     * destinations and connections).
     */
    longestDedupSeconds,
    /** Returns the source with this write key, also if disabled. Undefined when there is none. */
    source(writeKey: string): Source | undefined {
      const known = bySource();
      const found = known.get(writeKey);
      if (found !== undefined) return found;
      const looked = isWriteKey(writeKey) ? sources.byWriteKey(writeKey) : undefined;
      if (looked !== undefined) known.set(writeKey, looked);
      return looked;
    },
    sourceById: sources.find,
    /**
     * Number that increases when the topology (sources, destinations, connections and links to
     * transformations) changes. Callers then reload their copies of the topology.
     */
    topology: () => store.epoch("topology"),
    changedSince: tables.topology.changedSince,
    /**
     * Returns a destination and its connections. Undefined when the destination does not exist or
     * has no connections, or when rudder-server delivers its events.
     */
    lane(destinationId: string) {
      const destination = destinations.find(destinationId);
      if (destination === undefined || !isOurs(destination)) return undefined;
      const ofDestination = connections.ofDestination(destinationId).map(asRoute);
      return ofDestination.length > 0 ? { destination, connections: ofDestination } : undefined;
    },
    /**
     * Returns the connected destinations of all workspaces, each with its connections, except
     * destinations to which rudder-server delivers. A connection that was rerouted has a new id
     * here, so that delivery takes it for a new connection.
     */
    lanes,
    destination: destinations.find,
    /** Returns the values of a workspace's credentials by name, for test runs of user code. */
    credentials: tables.credentials.values,
    /**
     * Returns the program for a destination's events: the published transformation linked to the
     * destination, its libraries and the workspace's credentials. Returns undefined without a
     * linked transformation, and the same object until one of these parts changes.
     */
    program(destinationId: string): LiveProgram | undefined {
      const transformationId = code.links.of(destinationId);
      return transformationId === undefined ? undefined : programs(transformationId);
    },
  };
}

/** Whether pixelmill itself delivers a destination's events. If not, rudder-server does. */
function isOurs({ deliveredBy }: Destination): boolean {
  return deliveredBy === undefined;
}

/**
 * Returns a connection with the id that delivery uses: its `routeId`, or its own id if it has no
 * `routeId`.
 */
function asRoute(connection: Connection): Connection {
  const { routeId, ...rest } = connection;
  return routeId === undefined ? connection : { ...rest, id: routeId };
}

/**
 * Returns a function that caches the result of `make`. It calls `make` again only after the epoch
 * (a stored counter of changes) has increased.
 */
function cachedByEpoch<T>(store: CatalogStore, epoch: Epoch, make: () => T): () => T {
  let cached: { at: number; value: T } | undefined;
  return () => {
    const at = store.epoch(epoch);
    if (cached?.at !== at) cached = { at, value: make() };
    return cached.value;
  };
}

/**
 * Caches the result of `make` like `cachedByEpoch`. While no caller holds the result, the garbage
 * collector may free it; the next call then calls `make` again.
 */
function heldByEpoch<T extends object>(store: CatalogStore, epoch: Epoch, make: () => T): () => T {
  const held = cachedByEpoch<{ value?: WeakRef<T> }>(store, epoch, () => ({}));
  return () => {
    const cache = held();
    const known = cache.value?.deref();
    if (known !== undefined) return known;
    const made = make();
    cache.value = new WeakRef(made);
    return made;
  };
}

/**
 * Caches the published program of each transformation until the epoch `program` (a stored counter
 * of changes) increases. A program whose id is unchanged stays the same object, so that callers can
 * compare programs by identity.
 */
function programCache(store: CatalogStore, { credentials }: Tables, code: CodeTables) {
  const known = new Map<string, { at: number; program: LiveProgram }>();

  function make(resource: Resource): LiveProgram | undefined {
    const publication = code.publications.get(resource.id);
    const transformation = publication && code.revisions.get(publication.versionId);
    if (transformation === undefined) return undefined;
    const { workspaceId, language } = resource;
    const find = publishedLibraries(code, workspaceId, familyOf(language));
    const libraries = librariesFor(publication?.imports ?? [], find);
    const versions = [transformation, ...libraries].map((revision) => revision.versionId);
    const stamp = credentials.stamps.get(workspaceId) ?? "0";
    return {
      id: [...versions, stamp].join("+"),
      workspaceId,
      transformation,
      libraries,
      credentials: credentials.values(workspaceId),
    };
  }

  return (transformationId: string): LiveProgram | undefined => {
    const now = store.epoch("program");
    const before = known.get(transformationId);
    if (before?.at === now) return before.program;
    const resource = code.resource(transformationId);
    const made = resource && make(resource);
    known.delete(transformationId);
    if (made === undefined) return undefined;
    const program = made.id === before?.program.id ? before.program : made;
    known.set(transformationId, { at: now, program });
    // The first key is the program that was built longest ago.
    if (known.size > LIVE_PROGRAMS_MAX) known.delete(known.keys().next().value ?? "");
    return program;
  };
}

function isWriteKey(text: string): boolean {
  return text.length > 0 && text.length <= WRITE_KEY_CHARS_MAX;
}
