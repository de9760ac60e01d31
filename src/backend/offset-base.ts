import type { PartitionLogs } from "../cluster/events/partition-logs.ts";
import type { OffsetBase } from "../cluster/topics/offset-base.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";

const OFFSET_BASE_TABLE = "places";
/** Key of the table's only row. */
export const OFFSET_BASE_KEY = "place";

/** Offset base of a ledger's partition, which all nodes share. */
export const offsetBaseTable = (store: Store): Table<OffsetBase, string> =>
  store.table(OFFSET_BASE_TABLE);

export const storedOffsetBase = (store: Store): OffsetBase | undefined =>
  offsetBaseTable(store).get(OFFSET_BASE_KEY);

/** Keeps the log's offset base in sync with its ledger. */
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
