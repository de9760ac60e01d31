import type { PartitionLogs } from "../cluster/events/partition-logs.ts";
import type { OffsetBase } from "../cluster/topics/offset-base.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";

const OFFSET_BASE_TABLE = "places";
/** Key of the one row. */
export const OFFSET_BASE_KEY = "place";

/** Where the partition of a ledger is, which all nodes must count alike. */
export const offsetBaseTable = (store: Store): Table<OffsetBase, string> =>
  store.table(OFFSET_BASE_TABLE);

export const storedOffsetBase = (store: Store): OffsetBase | undefined =>
  offsetBaseTable(store).get(OFFSET_BASE_KEY);

/** Has a log be where its ledger says, from now on. */
export function syncOffsetBase(store: Store, logs: PartitionLogs, log: string): void {
  const follow = () => {
    const place = storedOffsetBase(store);
    if (place !== undefined) logs.setOffsetBase(log, place);
  };
  follow();
  store.listen((tables) => {
    if (tables.has(OFFSET_BASE_TABLE)) follow();
  });
}
