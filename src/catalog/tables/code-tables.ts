import { assert } from "../../assert.ts";
import type { Table } from "../../store/table.ts";
import { notFound } from "../code-errors.ts";
import { isId, timeOf } from "../ids.ts";
import { type Family, familyOf, isImportName } from "../import-name.ts";
import type { CodeKind, Publication, Resource, Revision } from "../model.ts";
import { type CatalogStore, keysBelow, LAST } from "../store.ts";
import { revisionHistoryTable } from "./revision-history.ts";
import { topologyChanges } from "./topology-changes.ts";

/** Tables of transformations and libraries, with their indexes. */
export type CodeTables = ReturnType<typeof openCodeTables>;

export function openCodeTables(store: CatalogStore) {
  const resources = store.table<Resource, string>("resources");
  const drafts = store.table<true, ResourceKey>("drafts-by-workspace");
  const resource = (id: string) => (isId(id) ? resources.get(id) : undefined);
  const publications = publicationTable(store);

  function resourceOf(workspaceId: string, kind: CodeKind, id: string): Resource {
    const found = resource(id);
    if (found?.workspaceId !== workspaceId || found.kind !== kind) throw notFound(kind);
    return found;
  }

  return {
    resource,
    /** Returns how many transformations or libraries a workspace has, without deleted ones. */
    count(workspaceId: string, kind: CodeKind): number {
      const range = keysBelow(workspaceId, kind);
      return drafts.getKeysCount(range) + publications.count(workspaceId, kind);
    },
    /** Yields ids of a workspace's drafts (neither published nor deleted code), oldest first. */
    drafts: (workspaceId: string, kind: CodeKind) => idsOf(drafts, workspaceId, kind),
    /**
     * Returns a transformation or library. Throws `missing` when the workspace has none with this
     * id and kind.
     */
    resourceOf,
    /**
     * Returns a transformation or library. Like `resourceOf`, but also throws `missing` when it was
     * deleted.
     */
    existing(workspaceId: string, kind: CodeKind, id: string): Resource {
      const found = resourceOf(workspaceId, kind, id);
      if (found.deleted) throw notFound(kind);
      return found;
    },
    putResource(resource: Resource): void {
      const { workspaceId, kind, id, newest } = resource;
      const before = resources.get(id);
      assert(!resource.deleted || !resource.published, "A published resource is not deleted");
      assert(
        !before || newest >= before.newest,
        "The newest revision is never replaced by an older",
      );
      resources.put(id, resource);
      if (isDraft(resource)) drafts.put([workspaceId, kind, id], true);
      else drafts.remove([workspaceId, kind, id]);
    },
    revisions: revisionTable(store),
    publications,
    pasts: revisionHistoryTable(store),
    libraryNames: libraryNameTable(store),
    links: linkTable(store),
  };
}

type ResourceKey = [workspaceId: string, kind: CodeKind, id: string];

/** Returns whether a transformation or library is a draft: neither published nor deleted. */
export function isDraft({ published, deleted }: Resource): boolean {
  return published === undefined && !deleted;
}

/**
 * Number of ids that `idsOf` reads from the store at once. It reads in pieces, so that no LMDB
 * cursor stays open while the caller handles an id.
 */
const KEYS_AT_ONCE = 1_000;

/**
 * Yields the ids in the table `order` that belong to a workspace and to one kind of code,
 * ascending. Reads `KEYS_AT_ONCE` ids at a time, when the caller asks for more.
 */
function* idsOf(
  order: Table<true, ResourceKey>,
  workspaceId: string,
  kind: CodeKind,
): Generator<string> {
  const { end } = keysBelow(workspaceId, kind);
  let after = "";
  for (;;) {
    const start: ResourceKey = [workspaceId, kind, after];
    const range = { start, end, exclusiveStart: after !== "", limit: KEYS_AT_ONCE };
    const ids = [...order.getKeys(range)].map(([, , id]) => id);
    yield* ids;
    if (ids.length < KEYS_AT_ONCE) return;
    after = ids.at(-1) ?? LAST;
  }
}

function revisionTable(store: CatalogStore) {
  const revisions = store.table<Revision, string>("revisions");
  const order = store.table<true, [id: string, versionId: string]>("revisions-by-resource");
  const counts = store.table<number, string>("revision-counts");
  return {
    /** Returns the number of code revisions in a workspace, including revisions of deleted code. */
    count: (workspaceId: string): number => counts.get(workspaceId) ?? 0,
    get: (versionId: string): Revision | undefined =>
      isId(versionId) ? revisions.get(versionId) : undefined,
    /** Stores a new revision, which never changes afterwards. */
    add(revision: Revision): void {
      assert(!revisions.doesExist(revision.versionId), "A versionId is never used twice");
      revisions.put(revision.versionId, revision);
      order.put([revision.id, revision.versionId], true);
      counts.put(revision.workspaceId, (counts.get(revision.workspaceId) ?? 0) + 1);
    },
    /** Returns a revision's number: 1 for the first revision of its transformation or library. */
    numberOf: (id: string, versionId: string): number =>
      order.getKeysCount({ start: [id, ""], end: [id, versionId] }) + 1,
    *of(id: string, options: { count: number; order: "asc" | "desc" }): Generator<Revision> {
      const { start: first, end: last } = keysBelow(id);
      const reverse = options.order === "desc";
      const range = reverse ? { start: last, end: first } : { start: first, end: last };
      for (const [, versionId] of [...order.getKeys({ ...range, reverse, limit: options.count })]) {
        const revision = revisions.get(versionId);
        if (revision !== undefined) yield revision;
      }
    },
  };
}

function publicationTable(store: CatalogStore) {
  const publications = store.table<Publication, string>("publications");
  const order = store.table<true, ResourceKey>("published-by-workspace");
  return {
    get: (id: string): Publication | undefined => publications.get(id),
    put(resource: Resource, publication: Publication): void {
      publications.put(resource.id, publication);
      order.put([resource.workspaceId, resource.kind, resource.id], true);
    },
    remove(resource: Resource): void {
      publications.remove(resource.id);
      order.remove([resource.workspaceId, resource.kind, resource.id]);
    },
    ids: (workspaceId: string, kind: CodeKind) => idsOf(order, workspaceId, kind),
    count: (workspaceId: string, kind: CodeKind): number =>
      order.getKeysCount(keysBelow(workspaceId, kind)),
  };
}

/**
 * Index by import name (the name by which code imports a library). For each name, it has the
 * published library with this name, and the published code that imports this name.
 */
function libraryNameTable(store: CatalogStore) {
  type Name = [workspaceId: string, family: Family, importName: string];
  const libraries = store.table<string, Name>("libraries-by-import-name");
  const importers = store.table<true, [...Name, id: string]>("importers-by-import-name");
  return {
    library: (...name: Name): string | undefined =>
      isImportName(name[2]) ? libraries.get(name) : undefined,
    putLibrary: (id: string, ...name: Name) => void libraries.put(name, id),
    removeLibrary: (...name: Name) => void libraries.remove(name),
    importers(...name: Name): string[] {
      if (!isImportName(name[2])) return [];
      return [...importers.getKeys(keysBelow(...name))].map((key) => key[3]);
    },
    /**
     * Updates the index by import name when the imports of a piece of published code change from
     * `before` to `after`.
     */
    putImports({ id, workspaceId, language }: Resource, before: string[], after: string[]): void {
      const family = familyOf(language);
      const keyOf = (name: string): [...Name, string] => [workspaceId, family, name, id];
      for (const name of before.filter(isImportName)) importers.remove(keyOf(name));
      for (const name of after.filter(isImportName)) importers.put(keyOf(name), true);
    },
  };
}

/**
 * Table of links. A link says which transformation transforms the events of a destination. A
 * destination has at most one link. A transformation may have many, which are listed in the order
 * in which they were made.
 */
function linkTable(store: CatalogStore) {
  const topology = topologyChanges(store);
  interface Link {
    transformationId: string;
    /**
     * Id that contains the time at which the link was made. The links of a transformation are
     * sorted by this id.
     */
    order: string;
  }
  const links = store.table<Link, string>("links");
  const order = store.table<string, [transformationId: string, order: string]>(
    "links-by-transformation",
  );

  function remove(destinationId: string): void {
    const link = links.get(destinationId);
    if (link === undefined) return;
    const inOrder = order.get([link.transformationId, link.order]);
    assert(inOrder === destinationId, "A destination has the same one link in both tables");
    links.remove(destinationId);
    topology.record([destinationId]);
    order.remove([link.transformationId, link.order]);
  }

  return {
    of: (destinationId: string): string | undefined =>
      isId(destinationId) ? links.get(destinationId)?.transformationId : undefined,
    madeAt(destinationId: string): number | undefined {
      const link = links.get(destinationId);
      return link && timeOf(link.order);
    },
    destinations: (transformationId: string): string[] =>
      [...order.getRange(keysBelow(transformationId))].map(({ value }) => value),
    /** Links a destination to a transformation. Replaces the destination's previous link. */
    put(link: Link, destinationId: string): void {
      remove(destinationId);
      links.put(destinationId, link);
      topology.record([destinationId]);
      order.put([link.transformationId, link.order], destinationId);
    },
    remove,
  };
}
