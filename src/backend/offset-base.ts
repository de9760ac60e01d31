import type { PartitionLogs } from "../cluster/events/partition-logs.ts";
import { nextOffsetBase, type OffsetBase, type TopicEnd } from "../cluster/topics/offset-base.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";

const OFFSET_BASE_TABLE = "places";
/** Key of the only row in the table of a partition's offset base. */
export const OFFSET_BASE_KEY = "place";

/**
 * Returns the table with a partition's offset base, which is a number to add to the brokers'
 * offsets. `store` is the store of the partition's delivery progress.
 */
export const offsetBaseTable = (store: Store): Table<OffsetBase, string> =>
  store.table(OFFSET_BASE_TABLE);

export const storedOffsetBase = (store: Store): OffsetBase | undefined =>
  offsetBaseTable(store).get(OFFSET_BASE_KEY);

/**
 * Sets the offset base of a log (a number to add to the brokers' offsets) to the one that is stored
 * with the partition's delivery progress. Sets it again whenever the stored one changes.
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

/**
 * Returns the end of a partition, read by `ask`. If this end shows a loss of blocks, asks again,
 * and returns at least the end that `prove` reads from the current leader. The second question is
 * needed because a broker that is no longer the leader can return an old end, and an offset base
 * that was computed for a loss never decreases again.
 */
export async function reliableTopicEnd(
  stored: OffsetBase | undefined,
  ask: () => Promise<TopicEnd>,
  prove: () => Promise<number>,
): Promise<TopicEnd> {
  const told = await ask();
  if (nextOffsetBase(stored, told).loss === undefined) return told;
  const proven = await prove();
  const again = await ask();
  return { ...again, end: Math.max(again.end, proven) };
}
