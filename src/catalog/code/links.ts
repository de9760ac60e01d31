import type { CodeStore } from "../catalog.ts";
import { newId } from "../ids.ts";
import type { Resource } from "../model.ts";
import { notFound } from "../refusals.ts";
import { checkLinkable } from "../states.ts";
import type { Store } from "../store.ts";
import type { Tables } from "../tables.ts";
import type { CodeTables } from "./tables.ts";

/** Linking of destinations to transformations, for use inside a change. */
export interface Linking {
  link(workspaceId: string, transformationId: string, destinationId: string): void;
}

export function openLinks(
  store: Store,
  { destinations }: Tables,
  tables: CodeTables,
): Pick<CodeStore, "link" | "unlink" | "linked" | "linkOf" | "linkedAt"> & { linking: Linking } {
  const { links } = tables;

  function transformation(workspaceId: string, id: string): Resource {
    const resource = tables.resourceOf(workspaceId, "transformation", id);
    if (resource.deleted) throw notFound("transformation");
    return resource;
  }

  const linking: Linking = {
    link(workspaceId, transformationId, destinationId) {
      checkLinkable(transformation(workspaceId, transformationId));
      const destination = destinations.get(workspaceId, destinationId);
      if (links.of(destination.id) === transformationId) return;
      links.put({ transformationId, order: newId() }, destination.id);
    },
  };

  return {
    linking,
    link(workspaceId, transformationId, destinationId) {
      return store.change(() => linking.link(workspaceId, transformationId, destinationId));
    },
    unlink(workspaceId, transformationId, destinationId) {
      return store.change(() => {
        transformation(workspaceId, transformationId);
        const destination = destinations.get(workspaceId, destinationId);
        if (links.of(destination.id) !== transformationId) return;
        links.remove(destination.id);
      });
    },
    linked: (workspaceId, transformationId) =>
      links
        .destinations(transformation(workspaceId, transformationId).id)
        .map((id) => destinations.get(workspaceId, id)),
    linkOf(workspaceId, destinationId) {
      return links.of(destinations.get(workspaceId, destinationId).id);
    },
    linkedAt(workspaceId, destinationId) {
      return links.madeAt(destinations.get(workspaceId, destinationId).id);
    },
  };
}
