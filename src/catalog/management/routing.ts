import type { Publication, Resource } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";

/** The published transformation that a destination is linked to. */
export type PublishedLink = Pick<Resource, "id" | "language"> & Pick<Publication, "versionId">;

/**
 * Creates the functions that read the data for rudder-server's configuration from the catalog.
 * Callers must read the data again when the counter `topology` or the counter `programs` has
 * increased. No function reads the text of user code.
 */
export function openRouting(store: CatalogStore, tables: Tables, code: CodeTables) {
  const versionOf = (id: string) => code.publications.get(id)?.versionId;
  return {
    /**
     * Number that increases when sources, destinations, connections or links of destinations to
     * transformations change.
     */
    topology: () => store.epoch("topology"),
    changedSince: tables.topology.changedSince,
    /** Number that increases when published code or credentials change. */
    programs: () => store.epoch("program"),
    /** Returns the connections of a destination, also when rudder-server delivers its events. */
    connectionsOf: tables.connections.ofDestination,
    /**
     * Returns the published transformation that a destination is linked to. Undefined when it is
     * linked to none.
     */
    publishedLink(destinationId: string): PublishedLink | undefined {
      const id = code.links.of(destinationId);
      const resource = id === undefined ? undefined : code.resource(id);
      const versionId = resource && versionOf(resource.id);
      if (resource === undefined || versionId === undefined) return undefined;
      return { id: resource.id, versionId, language: resource.language };
    },
    /** Returns the versionIds of the published revisions of a workspace's libraries. */
    publishedLibraries: (workspaceId: string): string[] =>
      [...code.publications.ids(workspaceId, "library")].flatMap((id) => versionOf(id) ?? []),
  };
}
