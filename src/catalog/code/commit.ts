import { ApiError } from "../../errors.ts";
import {
  importNameTaken,
  notFound,
  PublicationConflict,
  RevisionConflict,
} from "../code-errors.ts";
import { withExternalId } from "../external-id.ts";
import { familyOf } from "../import-name.ts";
import type { ItemLimits } from "../management/item-limits.ts";
import type { CodeKind, Resource, Revision } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import { firstEvents } from "../tables/revision-history.ts";
import { importersThrough, librariesFor, publishedLibraries } from "./closure.ts";
import type { CodeChange } from "./code-changes.ts";
import { asDeleted, newDraft, withNote, withPublished, withRevision } from "./resource-states.ts";

/**
 * Maximum number of importers that the error message names when a library cannot be deleted because
 * published code imports it. The message only counts the others.
 */
const NAMED_IMPORTERS_MAX = 10;

/**
 * Creates the functions that change transformations and libraries, each in one transaction. The
 * rules of publishing are checked in the same transaction.
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
   * Stores `note`, the reason for saving or publishing a revision, with the revision and with its
   * transformation or library. An undefined `note` removes the stored one from the transformation
   * or library, but not from the revision.
   */
  function keepNote({ id, versionId }: { id: string; versionId: string }, note?: string): void {
    const resource = tables.resource(id);
    if (resource !== undefined) tables.putResource(withNote(resource, note));
    if (note !== undefined) tables.pasts.keep(versionId, { note });
  }

  return {
    expectNewest,
    /**
     * Stores revisions, publishes versions and links destinations in one transaction. Resolves with
     * the result of `answer`, which reads the new state inside the transaction. Rejects with:
     * - `conflict`: a library to publish has the import name of another library of its language
     *   family.
     * - `RevisionConflict`: a revision in `basedOn` is not the newest one.
     * - `PublicationConflict`: `usedLibraries` differs from the published libraries, or
     *   `testedImporters` lacks published code that imports a library in `publish`.
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
    /**
     * Marks a transformation or library as deleted, unpublishes it, and unlinks it from
     * destinations. Rejects with `conflict` for a library that published code imports.
     */
    remove(workspaceId: string, kind: CodeKind, id: string) {
      return store.change(() => {
        const before = tables.resourceOf(workspaceId, kind, id);
        const after = asDeleted(before);
        unpublish(tables, before);
        for (const destinationId of tables.links.destinations(id)) {
          tables.links.remove(destinationId);
        }
        tables.putResource(after);
        if (before.published !== undefined) store.advance("program");
      });
    },
    /**
     * Changes the external id of a transformation or library. Resolves with the result of `answer`,
     * which runs inside the transaction.
     */
    setExternalId<T = void>(
      workspaceId: string,
      kind: CodeKind,
      id: string,
      externalId: string,
      answer?: () => T,
    ) {
      return store.change(() => {
        const before = tables.existing(workspaceId, kind, id);
        tables.putResource(withExternalId(withNote(before, undefined), { externalId }));
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
 * Returns the ids of all transformations and libraries whose published version directly imports
 * `library`. Leaves out the id of `library` itself.
 */
function importersOf(tables: CodeTables, workspaceId: string, library: Revision): string[] {
  const name = library.importName ?? "";
  const ids = tables.libraryNames.importers(workspaceId, familyOf(library.language), name);
  return ids.filter((id) => id !== library.id);
}

function unpublish(tables: CodeTables, resource: Resource): void {
  const publication = tables.publications.get(resource.id);
  const revision = publication && tables.revisions.get(publication.versionId);
  if (publication === undefined || revision === undefined) return;
  if (revision.importName !== undefined) {
    const { workspaceId, language } = resource;
    checkUnused(tables, workspaceId, revision);
    tables.libraryNames.removeLibrary(workspaceId, familyOf(language), revision.importName);
  }
  tables.libraryNames.putImports(resource, publication.imports, []);
  tables.publications.remove(resource);
  tables.pasts.keep(publication.versionId, { imports: publication.imports });
}

function checkUnused(tables: CodeTables, workspaceId: string, library: Revision): void {
  const names = importersOf(tables, workspaceId, library).map((id) => nameOf(tables, id));
  if (names.length === 0) return;
  const more = names.length - NAMED_IMPORTERS_MAX;
  const named =
    names.slice(0, NAMED_IMPORTERS_MAX).join(", ") + (more > 0 ? ` and ${more} more` : "");
  throw new ApiError("conflict", `The library is imported by published code: ${named}`);
}

function nameOf(tables: CodeTables, id: string): string {
  return tables.revisions.get(tables.resource(id)?.published ?? "")?.name ?? id;
}
