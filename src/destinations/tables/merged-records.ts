import type { TableLoad } from "./table-database.ts";
import type { TableRecord } from "./table-records.ts";

/**
 * Returns a load of the table of users with one record for each user, ordered by user id, so that
 * two writers lock rows in the same order. The later of two values counts.
 */
export function merged(load: TableLoad): TableLoad {
  const byId = new Map<string, TableRecord>();
  for (const record of load.records) {
    const id = String(record.id);
    byId.set(id, { ...byId.get(id), ...record });
  }
  const records = [...byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record);
  return { ...load, records, isMerged: true };
}
