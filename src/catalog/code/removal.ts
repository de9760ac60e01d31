import { ApiError } from "../../errors.ts";
import { withExternalId } from "../external-id.ts";
import { familyOf } from "../import-name.ts";
import type { CodeKind, Resource, Revision } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import { importersOf } from "./commit.ts";
import { asDeleted, withNote } from "./resource-states.ts";

/**
 * Maximum number of importers that the error names when a library cannot be deleted because
 * published code imports it. The error has only the number of further importers.
 */
const NAMED_IMPORTERS_MAX = 10;

export function createRemoval(store: CatalogStore, tables: CodeTables) {
  return {
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
