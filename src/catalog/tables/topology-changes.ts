import type { CatalogStore } from "../store.ts";

/**
 * Maximum number of stored topology changes (changes of destinations and their connections). A
 * process that has missed more changes reads all destinations again.
 */
const CHANGES_KEPT_MAX = 1_000;
/**
 * Maximum number of destination ids in one stored topology change. The ids of a larger change are
 * not stored, so every process reads all destinations again after it.
 */
const CHANGED_DESTINATIONS_MAX = 1_000;

/**
 * Opens the table of topology changes (changes of destinations and their connections). It lets a
 * process that has loaded thousands of destinations reload only the changed ones.
 */
export function topologyChanges(store: CatalogStore) {
  const changes = store.table<readonly string[], number>("topology-changes");
  return {
    /**
     * Stores the ids of destinations that changed, or whose connections or link to a transformation
     * changed. Increases the epoch `topology`. Requires an open transaction.
     */
    record(destinationIds: Iterable<string>): void {
      const ids = [...new Set(destinationIds)];
      const epoch = store.advance("topology");
      if (ids.length <= CHANGED_DESTINATIONS_MAX) changes.put(epoch, ids);
      changes.remove(epoch - CHANGES_KEPT_MAX);
    },
    /**
     * Returns the ids of the destinations that changed after the counter (epoch) `topology` had the
     * value `since`. Returns `undefined` when not all of these changes are stored.
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
