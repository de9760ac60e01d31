import { assert } from "../../assert.ts";
import { notPublished, versionNotFound } from "../code-errors.ts";
import { familyOf } from "../import-name.ts";
import type { CodeKind, Language, Resource, Revision } from "../model.ts";
import { type CodeTables, isDraft } from "../tables/code-tables.ts";
import type { RevisionHistory } from "../tables/revision-history.ts";
import type { ResourceRevision } from "./code-changes.ts";

/** Creates the functions that read transformations, libraries and their revisions. */
export function createReads(tables: CodeTables) {
  const { revisions, publications, libraryNames, resourceOf } = tables;

  function stored(versionId: string): Revision {
    const revision = revisions.get(versionId);
    assert(revision !== undefined, "A stored versionId has its revision");
    return revision;
  }

  function live(id: string): ResourceRevision[] {
    const found = tables.resource(id);
    if (found?.published === undefined) return [];
    return [{ resource: found, revision: stored(found.published) }];
  }

  function byVersion(workspaceId: string, kind: CodeKind, versionId: string): Revision {
    const revision = revisions.get(versionId);
    if (revision?.workspaceId !== workspaceId || revision.kind !== kind) {
      throw versionNotFound(kind);
    }
    return revision;
  }

  function history({ id, versionId }: Revision): RevisionHistory {
    // A version that an earlier release published has no stored history; its publication lists the
    // imports.
    const live = publications.get(id);
    return {
      ...(live?.versionId === versionId && { imports: live.imports }),
      ...tables.pasts.get(versionId),
    };
  }

  return {
    resource: resourceOf,
    /**
     * Returns a transformation or library with its newest revision, published or not. Throws
     * `missing` when it was deleted.
     */
    newestRevision(workspaceId: string, kind: CodeKind, id: string): ResourceRevision {
      const resource = tables.existing(workspaceId, kind, id);
      return { resource, revision: stored(resource.newest) };
    },
    /**
     * Returns a transformation or library with its published revision. Throws `missing` when it is
     * a draft or was deleted.
     */
    publishedRevision(workspaceId: string, kind: CodeKind, id: string): ResourceRevision {
      const resource = tables.existing(workspaceId, kind, id);
      if (resource.published === undefined) throw notPublished(kind);
      return { resource, revision: stored(resource.published) };
    },
    /**
     * Yields all published transformations or libraries in the order of creation. Each is read from
     * the store only when the caller asks for it.
     */
    *listPublished(workspaceId: string, kind: CodeKind): Generator<ResourceRevision> {
      for (const id of publications.ids(workspaceId, kind)) yield* live(id);
    },
    /**
     * Yields all drafts (neither published nor deleted) with their newest revisions, in the order
     * of creation. Each draft is read only when the caller asks for it.
     */
    *listDrafts(workspaceId: string, kind: CodeKind): Generator<ResourceRevision> {
      for (const id of tables.drafts(workspaceId, kind)) {
        const found = tables.resource(id);
        if (found && isDraft(found)) yield { resource: found, revision: stored(found.newest) };
      }
    },
    /**
     * Returns the transformations or libraries (`kind`) with these ids, each with its published
     * revision or, for a draft, its newest one. Leaves out unknown and deleted ids.
     */
    withIds: (workspaceId: string, kind: CodeKind, ids: readonly string[]): ResourceRevision[] =>
      ids.flatMap((id) => {
        const found = tables.resource(id);
        const isFound = found?.workspaceId === workspaceId && found.kind === kind && !found.deleted;
        if (!isFound) return [];
        return [{ resource: found, revision: stored(found.published ?? found.newest) }];
      }),
    revision(workspaceId: string, kind: CodeKind, id: string, versionId: string): Revision {
      const revision = byVersion(workspaceId, kind, versionId);
      if (revision.id !== id) throw versionNotFound(kind);
      return revision;
    },
    /**
     * Returns the revision with the given versionId, even if its transformation or library was
     * deleted. Throws `missing` when the workspace has no revision of this kind and versionId.
     */
    revisionByVersion: byVersion,
    /**
     * Yields the revisions of a transformation or library, also of a draft or a deleted one. Each
     * revision is read from the store only when the caller asks for it.
     */
    revisions(
      workspaceId: string,
      kind: CodeKind,
      id: string,
      options: { count: number; order: "asc" | "desc" },
    ) {
      return revisions.of(resourceOf(workspaceId, kind, id).id, options);
    },
    /** Returns the number of a workspace's revisions, including those of deleted code. */
    revisionCount: revisions.count,
    /** Returns a revision's number: 1 for the first revision of its transformation or library. */
    revisionNumber: ({ id, versionId }: { id: string; versionId: string }) =>
      revisions.numberOf(id, versionId),
    publication: (found: Resource) => publications.get(found.id),
    history,
    /**
     * Returns a revision that is or was published, by its versionId. Undefined for any other
     * revision. Searches all workspaces, because rudder-transformer's requests for code name no
     * workspace.
     */
    everPublished(kind: CodeKind, versionId: string): Revision | undefined {
      const revision = revisions.get(versionId);
      if (revision?.kind !== kind) return undefined;
      return history(revision).imports === undefined ? undefined : revision;
    },
    /**
     * Returns the published library with this import name whose language has the same family
     * (`python` and `pythonfaas` are one family). Undefined when there is none.
     */
    libraryByImportName(workspaceId: string, language: Language, importName: string) {
      const id = libraryNames.library(workspaceId, familyOf(language), importName);
      return id === undefined ? undefined : live(id)[0]?.revision;
    },
    /** Returns the published code in the family of `language` that imports `importName`. */
    importers: (workspaceId: string, language: Language, importName: string) =>
      libraryNames.importers(workspaceId, familyOf(language), importName).flatMap(live),
  };
}
