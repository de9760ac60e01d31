import {
  importNameTaken,
  notFound,
  PublicationConflict,
  RevisionConflict,
} from "../code-errors.ts";
import { familyOf } from "../import-name.ts";
import type { ItemLimits } from "../management/item-limits.ts";
import type { CodeKind, Revision } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import { firstEvents } from "../tables/revision-history.ts";
import { importersThrough, librariesFor, publishedLibraries } from "./closure.ts";
import type { CodeChange } from "./code-changes.ts";
import { newDraft, withNote, withPublished, withRevision } from "./resource-states.ts";

/**
 * Creates the function `commit`, which stores revisions, publishes them and links destinations in
 * one transaction. The rules of publishing are checked in the same transaction.
 */
export function createCommit(
  store: CatalogStore,
  tables: CodeTables,
  putLink: (workspaceId: string, transformationId: string, destinationId: string) => void,
  limits: ItemLimits,
) {
  /**
   * Throws `missing` when a transformation or library in `basedOn` was deleted. Throws
   * `RevisionConflict` when a revision in `basedOn` is not the newest one of its transformation or
   * library.
   */
  function expectNewest(workspaceId: string, { basedOn = [] }: Pick<CodeChange, "basedOn">): void {
    for (const { kind, id, versionId } of basedOn) {
      const resource = tables.existing(workspaceId, kind, id);
      if (resource.newest !== versionId) throw new RevisionConflict();
    }
  }

  function addRevision(workspaceId: string, revision: Revision): void {
    const { kind, id } = revision;
    limits.expectRoom(revision.workspaceId, "revisions");
    const before = tables.resource(id);
    if (before === undefined) limits.expectRoom(revision.workspaceId, limitOf(kind));
    if (revision.workspaceId !== workspaceId) throw notFound(kind);
    tables.revisions.add(revision);
    tables.putResource(before ? withRevision(before, revision) : newDraft(revision));
  }

  function publish(workspaceId: string, item: CodeChange["publish"][number]): void {
    const { kind, id, versionId, imports } = item;
    const before = tables.resourceOf(workspaceId, kind, id);
    // A deleted item is restored when it is published.
    if (before.deleted) limits.expectRoom(workspaceId, limitOf(kind));
    const revision = tables.revisions.get(versionId);
    if (revision === undefined) throw notFound(kind);
    const after = withPublished(before, revision);
    if (revision.importName !== undefined) {
      const name = [workspaceId, familyOf(after.language), revision.importName] as const;
      const owner = tables.libraryNames.library(...name);
      if (owner !== undefined && owner !== id) throw importNameTaken();
      tables.libraryNames.putLibrary(id, ...name);
    }
    const earlier = tables.publications.get(id);
    if (earlier) tables.pasts.keep(earlier.versionId, { imports: earlier.imports });
    tables.pasts.keep(versionId, { imports });
    tables.libraryNames.putImports(after, earlier?.imports ?? [], imports);
    tables.publications.put(after, { versionId, imports });
    tables.putResource(after);
  }

  /**
   * Stores the reason why a revision was saved or published. Without `note`, removes the reason
   * stored with the transformation or library, but keeps the reason stored with the revision.
   */
  function keepNote({ id, versionId }: { id: string; versionId: string }, note?: string): void {
    const resource = tables.resource(id);
    if (resource !== undefined) tables.putResource(withNote(resource, note));
    if (note !== undefined) tables.pasts.keep(versionId, { note });
  }

  return {
    expectNewest,
    /**
     * Stores revisions, publishes versions and links destinations in one transaction. Rejects with
     * `conflict` when a library to publish has the import name of another library of its language.
     * Rejects with `PublicationConflict` when the tests used other libraries (`usedLibraries`) than
     * the published ones, or left out published code that imports a library in `publish`
     * (`testedImporters`). Resolves with the result of `answer`, which runs inside the transaction
     * and reads the new state.
     */
    commit<T = void>(workspaceId: string, change: CodeChange, answer?: () => T) {
      return store.change(() => {
        checkUsedLibraries(tables, workspaceId, change);
        expectNewest(workspaceId, change);
        for (const revision of change.revisions) addRevision(workspaceId, revision);
        for (const item of change.publish) publish(workspaceId, item);
        for (const item of [...change.revisions, ...change.publish]) keepNote(item, change.note);
        for (const { versionId, events } of change.events ?? []) {
          tables.pasts.keep(versionId, { events: firstEvents(events) });
        }
        checkImportsTested(tables, workspaceId, change);
        checkImportersTested(tables, workspaceId, change);
        for (const link of change.links) {
          putLink(workspaceId, link.transformationId, link.destinationId);
        }
        for (const { kind, id, externalId } of change.externalIds ?? []) {
          tables.putResource({ ...tables.resourceOf(workspaceId, kind, id), externalId });
        }
        if (change.publish.length > 0) store.advance("program");
        return answer?.() as T;
      });
    },
  };
}

/**
 * Throws `PublicationConflict` unless the library versions that the tests used are still published.
 */
function checkUsedLibraries(tables: CodeTables, workspaceId: string, change: CodeChange): void {
  for (const { importName, language, versionId } of change.usedLibraries) {
    const id = tables.libraryNames.library(workspaceId, familyOf(language), importName);
    if (id === undefined || tables.resource(id)?.published !== versionId)
      throw new PublicationConflict();
  }
}

/**
 * Throws `PublicationConflict` if code in `publish` imports a library version that the tests did
 * not use.
 */
function checkImportsTested(tables: CodeTables, workspaceId: string, change: CodeChange): void {
  const known = new Set([...change.publish, ...change.usedLibraries].map((it) => it.versionId));
  for (const { kind, id, imports } of change.publish) {
    const { language } = tables.resourceOf(workspaceId, kind, id);
    const find = publishedLibraries(tables, workspaceId, familyOf(language));
    const used = librariesFor(imports, find);
    if (used.some(({ versionId }) => !known.has(versionId))) throw new PublicationConflict();
  }
}

/**
 * Throws `PublicationConflict` unless all published code that imports a library in `publish` was
 * tested with the library's new version.
 */
function checkImportersTested(tables: CodeTables, workspaceId: string, change: CodeChange): void {
  const tested = new Set(
    [...change.publish, ...(change.testedImporters ?? [])].map((it) => it.versionId),
  );
  const published = change.publish.filter(({ kind }) => kind === "library");
  const importers = importersThrough(
    published.map((it) => it.versionId),
    (versionId) => {
      const library = tables.revisions.get(versionId);
      if (library?.importName === undefined) return [];
      const ids = importersOf(tables, workspaceId, library);
      return ids.flatMap((id) => tables.resource(id)?.published ?? []);
    },
    (versionId) => versionId,
  );
  if (importers.some((versionId) => !tested.has(versionId))) throw new PublicationConflict();
}

const limitOf = (kind: CodeKind) => (kind === "library" ? "libraries" : "transformations");

/**
 * Returns the ids of all transformations and libraries, other than the given library, whose
 * published version imports it directly.
 */
export function importersOf(tables: CodeTables, workspaceId: string, library: Revision): string[] {
  const name = library.importName ?? "";
  const ids = tables.libraryNames.importers(workspaceId, familyOf(library.language), name);
  return ids.filter((id) => id !== library.id);
}
