import { ApiError } from "../../errors.ts";
import { withExternalId } from "../external-id.ts";
import { newId } from "../ids.ts";
import type { Connection } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import { newWindow, setLive } from "./live-windows.ts";
import type { Connections } from "./resources.ts";

export function openConnections(
  store: CatalogStore,
  { connections, sources, destinations }: Tables,
): Connections {
  return {
    create(workspaceId, input, logEnds) {
      return store.change(() => {
        const source = sources.get(workspaceId, input.sourceId);
        const destination = destinations.get(workspaceId, input.destinationId);
        if (connections.hasPair(source.id, destination.id)) {
          throw new ApiError("conflict", "The source and the destination are connected already");
        }
        const now = Date.now();
        const enabled = input.enabled ?? true;
        const connection: Connection = {
          id: newId(now),
          workspaceId,
          sourceId: source.id,
          destinationId: destination.id,
          enabled,
          ...newWindow(enabled && destination.enabled, logEnds),
          createdAt: now,
          updatedAt: now,
        };
        const made = withExternalId(connection, input);
        connections.put(made);
        store.advance("topology");
        return made;
      });
    },
    update(workspaceId, id, input, logEnds) {
      return store.change(() => {
        const before = connections.get(workspaceId, id);
        const destination = destinations.get(workspaceId, before.destinationId);
        const enabled = input.enabled ?? before.enabled;
        const changed = {
          ...setLive(before, enabled && destination.enabled, logEnds),
          enabled,
          updatedAt: Date.now(),
        };
        const after = withExternalId(changed, input);
        connections.put(after);
        store.advance("topology");
        return after;
      });
    },
    remove(workspaceId, id) {
      return store.change(() => {
        connections.remove(connections.get(workspaceId, id));
        store.advance("topology");
      });
    },
    get: connections.get,
    list: connections.list,
  };
}
