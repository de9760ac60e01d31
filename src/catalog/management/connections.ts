import { ApiError } from "../../errors.ts";
import type { Positions } from "../../log/positions.ts";
import { externalIdTaken, withExternalId } from "../external-id.ts";
import { newId } from "../ids.ts";
import type { Connection } from "../model.ts";
import { type CatalogStore, inTransactions } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import { readsOf } from "../tables/workspace-table.ts";
import type { ItemLimits } from "./item-limits.ts";
import { changeTime, newItem } from "./item-times.ts";
import { newWindow, setLive } from "./live-windows.ts";

/**
 * Selects connections by source, by destination or by both. At least one of the two fields must be
 * present.
 */
interface ConnectionEnds {
  sourceId?: string | undefined;
  destinationId?: string | undefined;
}
/** Fields of a connection in a request. An empty external id removes the stored external id. */
export interface ConnectionInput
  extends Pick<Connection, "sourceId" | "destinationId" | "externalId">,
    Partial<Pick<Connection, "enabled">> {}

export function openConnections(
  store: CatalogStore,
  { connections, sources, destinations, removedConnections: removed, topology }: Tables,
  limits: ItemLimits,
) {
  /** Returns the stored or removed connection `before` with the changes in `input`. */
  function changed(
    before: Connection,
    input: Partial<ConnectionInput>,
    logEnds: Positions,
  ): Connection {
    const { workspaceId, id } = before;
    const { sourceId = before.sourceId, destinationId = before.destinationId } = input;
    const source = sources.get(workspaceId, sourceId);
    const destination = destinations.get(workspaceId, destinationId);
    const enabled = input.enabled ?? before.enabled;
    const isLive = enabled && destination.enabled;
    const now = changeTime(before);
    const pair = { sourceId: source.id, destinationId: destination.id };
    const other = connections.ofPair(pair);
    if (other !== undefined && other !== id) throw pairTaken();
    if (other !== undefined) {
      return { ...setLive(before, isLive, logEnds), enabled, updatedAt: now };
    }
    const { until: _, earlier: __, ...rest } = before;
    return {
      ...rest,
      ...pair,
      enabled,
      ...newWindow(isLive, logEnds),
      routeId: newId(now),
      updatedAt: now,
    };
  }

  return {
    ...inTransactions(store, {
      /**
       * Connects a source to a destination. The connection delivers events after `logEnds`, the
       * current ends of the event logs. Rejects with `conflict` when the two are already connected.
       */
      create(workspaceId: string, input: ConnectionInput, logEnds: Positions) {
        const source = sources.get(workspaceId, input.sourceId);
        const destination = destinations.get(workspaceId, input.destinationId);
        const pair = { sourceId: source.id, destinationId: destination.id };
        if (connections.ofPair(pair) !== undefined) throw pairTaken();
        limits.expectRoom(workspaceId, "connections");
        const enabled = input.enabled ?? true;
        const connection: Connection = newItem(workspaceId, {
          ...pair,
          enabled,
          ...newWindow(enabled && destination.enabled, logEnds),
        });
        const made = withExternalId(connection, input, connections.owner);
        connections.put(made);
        topology.record([destination.id]);
        return made;
      },
      /**
       * Changes a connection, or restores one that was removed with its source or destination. To
       * restore, `input` must name a replacement for each deleted source or destination. If the
       * source or destination changes, undelivered events of the old route are discarded.
       */
      update(workspaceId: string, id: string, input: Partial<ConnectionInput>, logEnds: Positions) {
        const stored = connections.find(id);
        const before = stored ?? removed.find(workspaceId, id);
        if (before?.workspaceId !== workspaceId) throw connectionNotFound();
        const after = withExternalId(changed(before, input, logEnds), input, connections.owner);
        if (stored !== undefined) connections.remove(stored);
        else {
          limits.expectRoom(workspaceId, "connections");
          const { externalId = "" } = after;
          if (connections.owner(workspaceId, externalId) !== undefined) throw externalIdTaken();
          removed.forget(before);
        }
        connections.put(after);
        topology.record([before.destinationId, after.destinationId]);
        return after;
      },
      remove(workspaceId: string, id: string) {
        const connection = connections.get(workspaceId, id);
        connections.remove(connection);
        topology.record([connection.destinationId]);
      },
    }),
    /**
     * Yields the connections of a source, of a destination, or from one source to one destination,
     * oldest first.
     */
    *eachOf(
      workspaceId: string,
      { sourceId, destinationId }: ConnectionEnds,
    ): Iterable<Connection> {
      const ids =
        destinationId === undefined
          ? connections.idsOfSource(sourceId ?? "")
          : connections.idsOfDestination(destinationId);
      for (const id of ids) {
        const connection = connections.find(id);
        if (connection?.workspaceId !== workspaceId) continue;
        if (sourceId === undefined || connection.sourceId === sourceId) yield connection;
      }
    },
    /**
     * Returns the id of the connection from a source to a destination. Undefined when they are not
     * connected.
     */
    idOf: connections.ofPair,
    ...readsOf(connections),
  };
}

const pairTaken = () =>
  new ApiError("conflict", "The source and the destination are connected already");
const connectionNotFound = () => new ApiError("missing", "Connection not found");
