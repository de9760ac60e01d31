import type { PartitionLogs } from "../cluster/events/partition-logs.ts";
import type { OffsetBase } from "../cluster/topics/offset-base.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";

const OFFSET_BASE_TABLE = "places";
/** Key of the only row in a table of offset bases. */
export const OFFSET_BASE_KEY = "place";

/**
 * Returns the table with a partition's offset base. `store` is the store of the partition's ledger.
 */
export const offsetBaseTable = (store: Store): Table<OffsetBase, string> =>
  store.table(OFFSET_BASE_TABLE);

export const storedOffsetBase = (store: Store): OffsetBase | undefined =>
  offsetBaseTable(store).get(OFFSET_BASE_KEY);

/**
 * Sets the offset base of a log to the one in its partition's ledger, now and whenever the ledger
 * changes.
 */
export function syncOffsetBase(store: Store, logs: PartitionLogs, log: string): void {
  const sync = () => {
    const base = storedOffsetBase(store);
    if (base !== undefined) logs.setOffsetBase(log, base);
  };
  sync();
  store.listen((tables) => {
    if (tables.has(OFFSET_BASE_TABLE)) sync();
  });
}
