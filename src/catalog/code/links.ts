import { notFound } from "../code-errors.ts";
import { newId } from "../ids.ts";
import type { Resource } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";
import type { CodeStore } from "./code-store.ts";
import { checkLinkable } from "./resource-states.ts";

export const none = <T>() => undefined as T;

/**
 * Provides the function that links a destination to a transformation. The function must be called
 * inside a transaction of the store.
 */
export interface LinkChange {
  link(workspaceId: string, transformationId: string, destinationId: string): void;
}

export function openLinks(
  store: CatalogStore,
  { destinations }: Tables,
  tables: CodeTables,
): Pick<
  CodeStore,
  "link" | "unlink" | "clearLink" | "linkedDestinations" | "linkedTransformation" | "linkedAt"
> & {
  linking: LinkChange;
} {
  const { links } = tables;

  function transformation(workspaceId: string, id: string): Resource {
    const resource = tables.resourceOf(workspaceId, "transformation", id);
    if (resource.deleted) throw notFound("transformation");
    return resource;
  }

  const linking: LinkChange = {
    link(workspaceId, transformationId, destinationId) {
      checkLinkable(transformation(workspaceId, transformationId));
      const destination = destinations.get(workspaceId, destinationId);
      if (links.of(destination.id) === transformationId) return;
      links.put({ transformationId, order: newId() }, destination.id);
    },
  };

  return {
    linking,
    link<T>(
      workspaceId: string,
      transformationId: string,
      destinationId: string,
      answer: () => T = none,
    ) {
      return store.change(() => {
        linking.link(workspaceId, transformationId, destinationId);
        return answer();
      });
    },
    unlink<T>(
      workspaceId: string,
      transformationId: string,
      destinationId: string,
      answer: () => T = none,
    ) {
      return store.change(() => {
        transformation(workspaceId, transformationId);
        const destination = destinations.get(workspaceId, destinationId);
        if (links.of(destination.id) === transformationId) links.remove(destination.id);
        return answer();
      });
    },
    clearLink(workspaceId, destinationId) {
      return store.change(() => links.remove(destinations.get(workspaceId, destinationId).id));
    },
    linkedDestinations: (workspaceId, transformationId) =>
      links
        .destinations(tables.resourceOf(workspaceId, "transformation", transformationId).id)
        .map((id) => destinations.get(workspaceId, id)),
    linkedTransformation(workspaceId, destinationId) {
      const destination = destinations.find(destinationId);
      return destination?.workspaceId === workspaceId ? links.of(destination.id) : undefined;
    },
    linkedAt(workspaceId, destinationId) {
      return links.madeAt(destinations.get(workspaceId, destinationId).id);
    },
  };
}
