import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import { assert } from "../assert.ts";
import type { Logger } from "../observe/log.ts";
import { openStore as openEnvironment } from "../store/lmdb/lmdb-store.ts";
import { openView } from "../store/lmdb/view.ts";
import type { OrderedLog } from "../store/ordered/ordered-log.ts";
import { OrderedStore, type OrderedStoreOptions } from "../store/ordered/ordered-store.ts";
import type { Store as Environment } from "../store/store.ts";

/** Name of an epoch: a stored counter that increases when its part of the catalog changes. */
export type Epoch = "topology" | "program";

/**
 * Store of the catalog's tables and of its epochs. An epoch is a stored counter of changes. When it
 * has increased, each process renews the caches that depend on it.
 */
export interface CatalogStore extends Environment {
  /**
   * Returns the value of an epoch (a stored counter of changes). Reads it from the store at most
   * once per turn of the event loop, unless this process has changed the store meanwhile.
   */
  epoch(name: Epoch): number;
  /**
   * Waits, without a time limit, until this node has read all entries of the log that the cluster's
   * nodes share. Resolves at once on a standalone server.
   */
  recover(): Promise<void>;
  /**
   * Increases an epoch (a stored counter of changes) and returns its new value. Must be called
   * inside a transaction.
   */
  advance(name: Epoch): number;
  /**
   * Calls `run`. Each change that begins before `run` has settled first calls `condition` in its
   * transaction, also when that comes later. If `condition` throws, the change rejects with that
   * error and writes nothing. When `run` itself calls `conditionally`, both conditions apply, the
   * outer one first.
   */
  conditionally<T>(condition: () => void, run: () => Promise<T>): Promise<T>;
}

/**
 * String that sorts after all ids and other ASCII keys. A key with this string as its last part
 * ends the range of keys that have the same first parts.
 */
export const LAST = "\uffff";

/** Returns the range of all keys that begin with the parts in `parts` and have one part more. */
export function keysBelow<const Parts extends readonly string[]>(...parts: Parts) {
  const key = (last: string): [...Parts, string] => [...parts, last];
  return { start: key(""), end: key(LAST) };
}

/**
 * Wraps each function in `methods`, so that each call runs as one transaction of the store (see
 * `Store.change`).
 */
export function inTransactions<Methods extends Record<string, (...args: never[]) => unknown>>(
  store: CatalogStore,
  methods: Methods,
) {
  const changes = Object.entries(methods).map(([name, method]) => [
    name,
    (...args: never[]) => store.change(() => method(...args)),
  ]);
  return Object.fromEntries(changes) as {
    [Name in keyof Methods]: (
      ...args: Parameters<Methods[Name]>
    ) => Promise<ReturnType<Methods[Name]>>;
  };
}

/**
 * Disk space in bytes that is reserved for the catalog. When the disk is full, this space still
 * allows alerts, sign-ins and changes, and the storing of other nodes' changes in a cluster.
 */
const RESERVE_BYTES = 4 << 20;

export const catalogFile = (directory: string) => join(directory, "catalog.mdb");

/**
 * Opens the catalog's store in a directory. `order` is the log of changes that all nodes of a
 * cluster share. With `order`, the store is this node's copy of the state that these changes
 * produce.
 */
export function openStore(
  directory: string,
  logger: Logger,
  order?: OrderedLog,
  { bounds, onNewer }: Pick<OrderedStoreOptions, "bounds" | "onNewer"> = {},
): CatalogStore {
  const path = catalogFile(directory);
  const name = "The catalog";
  const options = { path, name, logger, reserveBytes: RESERVE_BYTES };
  const shared = { ...options, ...(bounds && { bounds }), ...(onNewer && { onNewer }) };
  const ordered = order && new OrderedStore({ ...shared, log: order, local: openView(options) });
  const store = ordered ?? openEnvironment(options);
  const epochs = store.table<number, Epoch>("epochs");
  /**
   * Values of the epochs (counters of changes) that were read in this turn of the event loop. They
   * are cached because each pixel request needs them, and reading one from the store takes 0.4 µs.
   */
  const epochsNow = new Map<Epoch, number>();
  /**
   * Holds the function that returns the conditions which `conditionally` set for the asynchronous
   * call in progress. Changes find it here, so the catalog's methods need no parameter for it.
   */
  const conditions = new AsyncLocalStorage<() => readonly (() => void)[]>();
  /**
   * Greatest value of each epoch (counter of changes) that this process has read. `advance` asserts
   * that the next value is greater.
   */
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
      const checks = conditions.getStore()?.() ?? [];
      const checked = () => {
        for (const check of checks) check();
        return apply();
      };
      try {
        return await store.change(checks.length === 0 ? apply : checked, options);
      } finally {
        epochsNow.clear();
      }
    },
    epoch,
    async conditionally(condition, run) {
      const outer = conditions.getStore();
      let isOver = false;
      // A change that begins after the end, in work that `run` did not await, has no condition.
      const current = () => [...(outer?.() ?? []), ...(isOver ? [] : [condition])];
      try {
        return await conditions.run(current, run);
      } finally {
        isOver = true;
      }
    },
    advance(name) {
      const value = (epochs.get(name) ?? 0) + 1;
      assert(value > (greatest.get(name) ?? 0), "An epoch only ascends");
      epochs.put(name, value);
      return value;
    },
  };
}
