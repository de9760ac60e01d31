import { TEST_EVENTS_KEPT_BYTES_MAX } from "../../settings/limits.ts";
import { isId } from "../ids.ts";
import type { RevisionHistory } from "../model.ts";
import type { CatalogStore } from "../store.ts";

/** The histories of revisions, by versionId. */
export function revisionHistoryTable(store: CatalogStore) {
  const pasts = store.table<RevisionHistory, string>("pasts");
  const get = (versionId: string): RevisionHistory =>
    isId(versionId) ? (pasts.get(versionId) ?? {}) : {};
  return {
    get,
    /** Merges facts into the revision's history. */
    keep(versionId: string, more: RevisionHistory): void {
      pasts.put(versionId, { ...get(versionId), ...more });
    },
  };
}

/** The first events, as many as fit into `TEST_EVENTS_KEPT_BYTES_MAX`. Pure. */
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
