import { assert } from "../../assert.ts";
import { notFound, notPublished, versionNotFound } from "../code-errors.ts";
import { familyOf } from "../import-name.ts";
import type { CodeKind, Revision } from "../model.ts";
import { type CodeTables, isDraft } from "../tables/code-tables.ts";
import type { RevisionHistory } from "../tables/revision-history.ts";
import type { CodeStore, ResourceRevision } from "./code-store.ts";

type Reads = Pick<
  CodeStore,
  | "newestRevision"
  | "publishedRevision"
  | "listPublished"
  | "listDrafts"
  | "revision"
  | "revisionByVersion"
  | "everPublished"
  | "revisions"
  | "resource"
  | "publication"
  | "history"
  | "libraryByImportName"
  | "importers"
>;

export function createReads(tables: CodeTables): Reads {
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
    // A version that an earlier release published has no stored history; its publication has the
    // imports.
    const live = publications.get(id);
    return {
      ...(live?.versionId === versionId && { imports: live.imports }),
      ...tables.pasts.get(versionId),
    };
  }

  return {
    resource: resourceOf,
    newestRevision(workspaceId, kind, id) {
      const found = resourceOf(workspaceId, kind, id);
      if (found.deleted) throw notFound(kind);
      return { resource: found, revision: stored(found.newest) };
    },
    publishedRevision(workspaceId, kind, id) {
      const found = resourceOf(workspaceId, kind, id);
      if (found.deleted) throw notFound(kind);
      if (found.published === undefined) throw notPublished(kind);
      return { resource: found, revision: stored(found.published) };
    },
    *listPublished(workspaceId, kind) {
      for (const id of publications.ids(workspaceId, kind)) yield* live(id);
    },
    *listDrafts(workspaceId, kind) {
      for (const id of tables.drafts(workspaceId, kind)) {
        const found = tables.resource(id);
        if (found && isDraft(found)) yield { resource: found, revision: stored(found.newest) };
      }
    },
    revision(workspaceId, kind, id, versionId) {
      const revision = byVersion(workspaceId, kind, versionId);
      if (revision.id !== id) throw versionNotFound(kind);
      return revision;
    },
    revisionByVersion: byVersion,
    revisions(workspaceId, kind, id, options) {
      return revisions.of(resourceOf(workspaceId, kind, id).id, options);
    },
    publication: (found) => publications.get(found.id),
    history,
    everPublished(kind, versionId) {
      const revision = revisions.get(versionId);
      if (revision?.kind !== kind) return undefined;
      return history(revision).imports === undefined ? undefined : revision;
    },
    libraryByImportName(workspaceId, language, importName) {
      const id = libraryNames.library(workspaceId, familyOf(language), importName);
      return id === undefined ? undefined : live(id)[0]?.revision;
    },
    importers: (workspaceId, language, importName) =>
      libraryNames.importers(workspaceId, familyOf(language), importName).flatMap(live),
  };
}
