import { newId } from "../ids.ts";
import type { Destination } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";
import { checkLinkable } from "./resource-states.ts";

/**
 * Creates the functions for links of destinations to transformations. The functions `link` and
 * `unlink` resolve with the result of `answer`, which runs inside the transaction and reads the new
 * state. If `answer` throws, nothing is changed.
 */
export function openLinks(store: CatalogStore, { destinations }: Tables, tables: CodeTables) {
  const { links } = tables;

  function putLink(workspaceId: string, transformationId: string, destinationId: string): void {
    checkLinkable(tables.existing(workspaceId, "transformation", transformationId));
    const destination = destinations.get(workspaceId, destinationId);
    if (links.of(destination.id) === transformationId) return;
    links.put({ transformationId, order: newId() }, destination.id);
  }

  return {
    /** Links a destination to a transformation. Must be called inside a transaction. */
    putLink,
    link<T = void>(
      workspaceId: string,
      transformationId: string,
      destinationId: string,
      answer?: () => T,
    ) {
      return store.change(() => {
        putLink(workspaceId, transformationId, destinationId);
        return answer?.() as T;
      });
    },
    unlink<T = void>(
      workspaceId: string,
      transformationId: string,
      destinationId: string,
      answer?: () => T,
    ) {
      return store.change(() => {
        tables.existing(workspaceId, "transformation", transformationId);
        const destination = destinations.get(workspaceId, destinationId);
        if (links.of(destination.id) === transformationId) links.remove(destination.id);
        return answer?.() as T;
      });
    },
    /** Removes the link of a destination to its transformation, if it has one. */
    clearLink(workspaceId: string, destinationId: string) {
      return store.change(() => links.remove(destinations.get(workspaceId, destinationId).id));
    },
    /** Returns the destinations that are linked to a transformation, in the order of linking. */
    linkedDestinations: (workspaceId: string, transformationId: string) =>
      links
        .destinations(tables.resourceOf(workspaceId, "transformation", transformationId).id)
        .map((id) => destinations.get(workspaceId, id)),
    /**
     * Returns the id of the transformation that a destination is linked to. Undefined when there is
     * none. The parameter is a destination and not its id, so that the destination need not be read
     * again.
     */
    linkedTransformation: ({ id }: Destination): string | undefined => links.of(id),
    /**
     * Returns the time at which a destination was linked to its transformation, in milliseconds
     * since the Unix epoch. Undefined when the destination has no link.
     */
    linkedAt(workspaceId: string, destinationId: string) {
      return links.madeAt(destinations.get(workspaceId, destinationId).id);
    },
  };
}
