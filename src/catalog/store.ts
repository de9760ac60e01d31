import { join } from "node:path";
import { assert } from "../assert.ts";
import type { Logger } from "../observe/log.ts";
import { openStore as openEnvironment } from "../store/lmdb/lmdb-store.ts";
import { openView } from "../store/lmdb/view.ts";
import type { OrderedLog } from "../store/ordered/ordered-log.ts";
import { type OrderedStoreOptions, openOrderedStore } from "../store/ordered/ordered-store.ts";
import type { Store as Environment } from "../store/store.ts";

/** A stored counter that increases whenever its part of the data changes. */
export type Epoch = "topology" | "program";

/** The catalog's store with epochs, by which every process knows when its caches are stale. */
export interface CatalogStore extends Environment {
  /**
   * The epoch at the beginning of this turn of the event loop, or after this process's last change.
   */
  epoch(name: Epoch): number;
  /** Resolves once this node has read the whole log, however long that takes. */
  recover(): Promise<void>;
  /** Only inside a change. */
  advance(name: Epoch): void;
}

/** Sorts after every id and all other ASCII keys: the end of a range under a key's prefix. */
export const LAST = "\uffff";

const TABLES_MAX = 48;

/** Opens the catalog's store in a directory; with `order`, as this node's view of that log. */
export function openStore(
  directory: string,
  logger: Logger,
  order?: OrderedLog,
  { bounds, onNewer }: Pick<OrderedStoreOptions, "bounds" | "onNewer"> = {},
): CatalogStore {
  const path = join(directory, "catalog.mdb");
  const name = "The catalog";
  const options = { path, tablesMax: TABLES_MAX, name, logger };
  const more = { ...(bounds && { bounds }), ...(onNewer && { onNewer }) };
  const shared = { ...options, log: order!, ...more };
  const ordered = order && openOrderedStore({ ...shared, local: openView(options) });
  const store = ordered ?? openEnvironment(options);
  const epochs = store.table<number, Epoch>("epochs");
  /**
   * Epochs read in this turn of the event loop: every pixel reads them, and a read of the store
   * costs 0.4 µs.
   */
  const epochsNow = new Map<Epoch, number>();
  /** The greatest value that this process has read of each epoch. */
  const greatest = new Map<Epoch, number>();

  function epoch(name: Epoch): number {
    const known = epochsNow.get(name);
    if (known !== undefined) return known;
    if (epochsNow.size === 0) setImmediate(() => epochsNow.clear());
    const value = epochs.get(name) ?? 0;
    epochsNow.set(name, value);
    greatest.set(name, Math.max(value, greatest.get(name) ?? 0));
    return value;
  }

  return {
    table: (name) => store.table(name),
    listen: (listener) => store.listen(listener),
    recover: async () => ordered?.recover(),
    async catchUp() {
      await store.catchUp();
      epochsNow.clear();
    },
    trouble: () => store.trouble(),
    close: () => store.close(),
    async change(apply, options) {
      try {
        return await store.change(apply, options);
      } finally {
        epochsNow.clear();
      }
    },
    epoch,
    advance(name) {
      const value = (epochs.get(name) ?? 0) + 1;
      assert(value > (greatest.get(name) ?? 0), "An epoch only ascends");
      epochs.put(name, value);
    },
  };
}
