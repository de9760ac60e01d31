import { withExternalId } from "../external-id.ts";
import { newId } from "../ids.ts";
import type { Destination, DestinationFilter } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";
import { readsOf } from "../tables/workspace-table.ts";
import { changeTime } from "./change-time.ts";
import type { ItemLimits } from "./item-limits.ts";
import { setLive } from "./live-windows.ts";
import type { Destinations } from "./resources.ts";

export function openDestinations(
  store: CatalogStore,
  { destinations, connections, removedConnections, topology }: Tables,
  { links }: CodeTables,
  limits: ItemLimits,
): Destinations {
  return {
    create(workspaceId, input) {
      const now = Date.now();
      const destination: Destination = {
        id: newId(now),
        workspaceId,
        name: input.name,
        type: input.type,
        ...(input.typeAs !== undefined && { typeAs: input.typeAs }),
        ...(input.deliveredBy !== undefined && { deliveredBy: input.deliveredBy }),
        ...(input.version !== undefined && { version: input.version }),
        ...(input.consentIds !== undefined && { consentIds: input.consentIds }),
        ...(input.filter !== undefined && { filter: input.filter }),
        enabled: input.enabled ?? true,
        config: input.config,
        createdAt: now,
        updatedAt: now,
      };
      return store.change(() => {
        limits.expectRoom(workspaceId, "destinations");
        const made = withExternalId(destination, input, destinations.owner);
        destinations.put(made);
        topology.record([made.id]);
        return made;
      });
    },
    update(workspaceId, id, input, logEnds) {
      return store.change(() => {
        const before = destinations.get(workspaceId, id);
        const { filter, ...others } = before;
        const changed: Destination = {
          ...others,
          ...withFilter(input.filter === undefined ? filter : input.filter),
          name: input.name ?? before.name,
          ...(input.version !== undefined && { version: input.version }),
          ...(input.consentIds !== undefined && { consentIds: input.consentIds }),
          enabled: input.enabled ?? before.enabled,
          config: input.config?.(before) ?? before.config,
          updatedAt: changeTime(before),
        };
        const after = withExternalId(changed, input, destinations.owner);
        destinations.put(after);
        for (const connection of connections.ofDestination(after.id)) {
          connections.put(setLive(connection, connection.enabled && after.enabled, logEnds));
        }
        topology.record([id]);
        return after;
      });
    },
    remove(workspaceId, id) {
      return store.change(() => {
        const destination = destinations.get(workspaceId, id);
        const ended = connections.ofDestination(id);
        for (const connection of ended) connections.remove(connection);
        removedConnections.keep(ended);
        links.remove(destination.id);
        destinations.remove(destination);
        topology.record([id]);
      });
    },
    ...readsOf(destinations),
  };
}

function withFilter(filter: DestinationFilter | null | undefined): Pick<Destination, "filter"> {
  return filter === null || filter === undefined ? {} : { filter };
}
