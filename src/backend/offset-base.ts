import type { PartitionLogs } from "../cluster/events/partition-logs.ts";
import { nextOffsetBase, type OffsetBase, type TopicEnd } from "../cluster/topics/offset-base.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";

const OFFSET_BASE_TABLE = "places";
/** Key of the only row in the table that stores a partition's offset base. */
export const OFFSET_BASE_KEY = "place";

/**
 * Returns the table with the offset base of a partition. The offset base is added to the brokers'
 * offsets, so that positions stay valid after the topic has lost blocks. `store` has the
 * partition's delivery progress.
 */
export const offsetBaseTable = (store: Store): Table<OffsetBase, string> =>
  store.table(OFFSET_BASE_TABLE);

export const storedOffsetBase = (store: Store): OffsetBase | undefined =>
  offsetBaseTable(store).get(OFFSET_BASE_KEY);

/**
 * Makes a log use the offset base (number that is added to the brokers' offsets) that is stored
 * with the partition's delivery progress: now, and again whenever the stored offset base changes.
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
 * Returns the end of a partition, which `ask` reads from a broker. If the answer means that blocks
 * are lost, asks again, and returns at least the end that the present leader confirms (`prove`). A
 * broker that is no longer leader may report an old end, and an offset base that was raised for a
 * loss is never lowered.
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
