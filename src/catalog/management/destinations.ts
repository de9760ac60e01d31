import { defined } from "../../defined.ts";
import type { Positions } from "../../log/positions.ts";
import { withExternalId } from "../external-id.ts";
import type { Destination, DestinationFilter } from "../model.ts";
import { type CatalogStore, inTransactions } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";
import { readsOf } from "../tables/workspace-table.ts";
import type { ItemLimits } from "./item-limits.ts";
import { changeTime, newItem } from "./item-times.ts";
import { setLive } from "./live-windows.ts";

/** Fields of a destination in a request. An empty external id removes the stored external id. */
interface DestinationInput
  extends Pick<Destination, "name" | "type" | "typeAs" | "version" | "config" | "externalId">,
    Partial<Pick<Destination, "enabled" | "consentIds" | "deliveredBy" | "filter">> {}
interface DestinationChange
  extends Partial<
    Pick<DestinationInput, "name" | "version" | "enabled" | "consentIds" | "externalId">
  > {
  /**
   * Computes the new config from the stored destination, inside the transaction. If this function
   * throws, `update` rejects with the same error.
   */
  config?: (before: Destination) => Record<string, unknown>;
  /** New event filter; null removes the filter. */
  filter?: DestinationFilter | null;
}

export function openDestinations(
  store: CatalogStore,
  { destinations, connections, removedConnections, topology }: Tables,
  { links }: CodeTables,
  limits: ItemLimits,
) {
  return {
    ...inTransactions(store, {
      create(workspaceId: string, input: DestinationInput) {
        const { typeAs, deliveredBy, version, consentIds, filter } = input;
        const destination: Destination = newItem(workspaceId, {
          name: input.name,
          type: input.type,
          ...defined({ typeAs, deliveredBy, version, consentIds, filter }),
          enabled: input.enabled ?? true,
          config: input.config,
        });
        limits.expectRoom(workspaceId, "destinations");
        const made = withExternalId(destination, input, destinations.owner);
        destinations.put(made);
        topology.record([made.id]);
        return made;
      },
      /**
       * Changes a destination. When `enabled` changes, the destination's connections start or stop
       * delivering at `logEnds`, the current ends of the event logs.
       */
      update(workspaceId: string, id: string, input: DestinationChange, logEnds: Positions) {
        const before = destinations.get(workspaceId, id);
        const { filter, ...others } = before;
        const { name, version, enabled, consentIds } = input;
        const filterAfter = input.filter === undefined ? filter : input.filter;
        const changed: Destination = {
          ...others,
          ...(filterAfter && { filter: filterAfter }),
          ...defined({ name, version, enabled, consentIds }),
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
      },
      /**
       * Removes a destination, its link to a transformation, and its connections. The connections
       * can be restored for `REMOVED_CONNECTION_SECONDS_MAX` seconds.
       */
      remove(workspaceId: string, id: string) {
        const destination = destinations.get(workspaceId, id);
        const ended = connections.ofDestination(id);
        for (const connection of ended) connections.remove(connection);
        removedConnections.keep(ended);
        links.remove(destination.id);
        destinations.remove(destination);
        topology.record([id]);
      },
    }),
    ...readsOf(destinations),
  };
}
