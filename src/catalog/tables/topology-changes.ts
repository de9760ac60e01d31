import type { CatalogStore } from "../store.ts";

/** Number of changes that are kept. Who has missed more reads all destinations again. */
const CHANGES_KEPT_MAX = 1_000;
/** Most destinations of a change that is kept. */
const CHANGED_DESTINATIONS_MAX = 1_000;

/** Table of the last changes of the topology, and which destinations they concern. */
export type TopologyChanges = ReturnType<typeof topologyChanges>;

/**
 * Opens the table of topology changes. By it, a process with thousands of destinations updates only
 * those that changed.
 */
export function topologyChanges(store: CatalogStore) {
  const changes = store.table<readonly string[], number>("topology-changes");
  return {
    /**
     * Notes a change of destinations or their connections, and advances the topology. Only called
     * inside a transaction.
     */
    record(destinationIds: Iterable<string>): void {
      const ids = [...new Set(destinationIds)];
      const epoch = store.advance("topology");
      if (ids.length <= CHANGED_DESTINATIONS_MAX) changes.put(epoch, ids);
      changes.remove(epoch - CHANGES_KEPT_MAX);
    },
    /**
     * Returns the ids of the destinations that changed after the topology was `since`. Undefined
     * when that is not known any more.
     */
    changedSince(since: number): ReadonlySet<string> | undefined {
      const now = store.epoch("topology");
      if (since > now || now - since > CHANGES_KEPT_MAX) return undefined;
      const ids = new Set<string>();
      for (let epoch = since + 1; epoch <= now; epoch++) {
        const changed = changes.get(epoch);
        if (changed === undefined) return undefined;
        for (const id of changed) ids.add(id);
      }
      return ids;
    },
  };
}
