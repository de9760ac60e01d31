import { TEST_EVENTS_KEPT_BYTES_MAX } from "../../settings/limits.ts";
import type { CatalogStore } from "../store.ts";

/**
 * Facts about a revision that become known after it was stored. They are stored separately, because
 * a revision never changes.
 */
export interface RevisionHistory {
  /**
   * Names of the modules that the code imports, as a sandbox process found them when the revision
   * was published. Absent when the revision was never published.
   */
  imports?: string[];
  /**
   * Test events that users sent to the revision: as many of the first ones as fit into
   * `TEST_EVENTS_KEPT_BYTES_MAX` bytes. Absent when users sent none.
   */
  events?: Record<string, unknown>[];
  /**
   * Last reason that a user gave for saving or publishing the revision. Absent when no user gave
   * one.
   */
  note?: string;
}

/**
 * Opens the table of facts that become known about a revision of user code after it was stored,
 * such as the modules that the code imports. The table's key is the revision's versionId.
 */
export function revisionHistoryTable(store: CatalogStore) {
  const pasts = store.table<RevisionHistory, string>("pasts");
  const get = (versionId: string): RevisionHistory => pasts.get(versionId) ?? {};
  return {
    get,
    /**
     * Stores facts about a revision. Each replaces the stored fact of the same name; other stored
     * facts remain.
     */
    keep(versionId: string, more: RevisionHistory): void {
      pasts.put(versionId, { ...get(versionId), ...more });
    },
  };
}

/** Returns as many of the first `events` as fit into `TEST_EVENTS_KEPT_BYTES_MAX` bytes. */
export function firstEvents(
  events: NonNullable<RevisionHistory["events"]>,
): NonNullable<RevisionHistory["events"]> {
  let bytes = 0;
  const end = events.findIndex((event) => {
    bytes += Buffer.byteLength(JSON.stringify(event));
    return bytes > TEST_EVENTS_KEPT_BYTES_MAX;
  });
  return storable(end < 0 ? events : events.slice(0, end));
}

/**
 * Returns events in the form in which they are stored. Large integers in events from the API are
 * objects of `JSON.rawJSON`. They become floating-point numbers of 64 bits, because the store has
 * no larger numbers.
 */
export function storable<Events>(events: Events): Events {
  return JSON.parse(JSON.stringify(events));
}
