import type { TableLoad } from "./table-database.ts";
import type { TableRecord } from "./table-records.ts";

/**
 * Returns a load of the table `users` with one record per user. If a user has several records, the
 * last value of each column counts. The records are ordered by user id, so that concurrent writers
 * lock rows in the same order.
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
