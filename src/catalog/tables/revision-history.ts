import { TEST_EVENTS_KEPT_BYTES_MAX } from "../../settings/limits.ts";
import type { CatalogStore } from "../store.ts";

/**
 * Facts about a revision that become known after it was stored. They are stored separately, because
 * a revision never changes.
 */
export interface RevisionHistory {
  /**
   * Names that the code imports, as a sandbox process found them at publishing. Absent when the
   * revision was never published.
   */
  imports?: string[];
  /**
   * The first test events that were sent with the revision, up to a number of bytes. Absent when
   * none were sent.
   */
  events?: Record<string, unknown>[];
  /** Reason of the last save or publication that had a reason. Absent without any. */
  note?: string;
}

/** Table of facts about revisions that become known after they were stored, by versionId. */
export function revisionHistoryTable(store: CatalogStore) {
  const pasts = store.table<RevisionHistory, string>("pasts");
  const get = (versionId: string): RevisionHistory => pasts.get(versionId) ?? {};
  return {
    get,
    /** Adds facts to the facts stored for a revision. */
    keep(versionId: string, more: RevisionHistory): void {
      pasts.put(versionId, { ...get(versionId), ...more });
    },
  };
}

/** Returns the first test events, up to `TEST_EVENTS_KEPT_BYTES_MAX` bytes. */
export function firstEvents(
  events: NonNullable<RevisionHistory["events"]>,
): NonNullable<RevisionHistory["events"]> {
  let bytes = 0;
  const end = events.findIndex((event) => {
    bytes += Buffer.byteLength(JSON.stringify(event));
    return bytes > TEST_EVENTS_KEPT_BYTES_MAX;
  });
  return end < 0 ? [...events] : events.slice(0, end);
}
