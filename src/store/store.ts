import type { Key, RangeOptions } from "lmdb";
import type { DryRun, RowWrite } from "./row-write.ts";
import type { Table } from "./table.ts";

export interface ChangeOptions {
  /**
   * Whether `apply` may run without a request to the brokers for the newest writes of other nodes.
   * If `apply` writes nothing, its result may then be out of date. If `apply` writes a row, it runs
   * again with the newest writes if necessary.
   */
  allowStale?: boolean;
}

/** Storage of named tables, which can be changed only in transactions. */
export interface Store {
  table<V, K extends Key>(name: string): Table<V, K>;
  /**
   * Runs the synchronous function `apply` as one transaction, in a cluster possibly several times.
   * Resolves with its result once its writes are durable. If `apply` throws, nothing is written,
   * and the promise rejects with that error. After an `unavailable` error, the writes may have been
   * stored.
   */
  change<T>(apply: () => T, options?: ChangeOptions): Promise<T>;
  /**
   * Registers a listener, and returns a function that removes it. The listener is called with the
   * names of the changed tables after each commit of any node, except a commit of this store object
   * in which all calls of `change` had `allowStale`. A standalone store never calls listeners.
   */
  listen(listener: (tables: ReadonlySet<string>) => void): () => void;
  /**
   * Waits until this node can read every write that any node of the cluster acknowledged before
   * this call. A standalone store resolves at once.
   */
  catchUp(): Promise<void>;
  /**
   * Returns a sentence that says why writes cannot be stored; undefined while they can be stored.
   */
  trouble(): string | undefined;
  /**
   * Waits for the transactions in progress, then closes the store. Later calls of `change` reject.
   */
  close(): Promise<void>;
}

/** Wraps a store so that calls of `close` do nothing, for components that share the store. */
export function withoutClose(store: Store): Store {
  return {
    table: (name) => store.table(name),
    change: (apply, options) => store.change(apply, options),
    listen: (listener) => store.listen(listener),
    catchUp: () => store.catchUp(),
    trouble: () => store.trouble(),
    async close() {},
  };
}

/** A store in a local file. It can also run functions as transactions without committing them. */
export interface LocalStore extends Store {
  /**
   * Runs the functions one after another in a transaction that is rolled back. Each sees the writes
   * of those before it, except writes made with `write`. A function that throws adds no writes to
   * the result.
   */
  dryRun(applies: readonly (() => unknown)[]): Promise<DryRun>;
  /** Returns the sorted names of all tables, including tables that this process has not opened. */
  tables(): string[];
  /** Iterates over the encoded rows of a table, by ascending key. `range` restricts the keys. */
  rows(table: string, range: RangeOptions): Iterable<{ key: Key; value: Uint8Array }>;
  /**
   * Writes an encoded row. Throws outside a transaction. In a dry run (a transaction that is rolled
   * back), write only the value that the row already has, because later reads in the dry run still
   * return the old value.
   */
  write(write: RowWrite): void;
  /**
   * Whether the write would change nothing: the row already has the value, or the row that the
   * write would remove does not exist.
   */
  has(row: RowWrite): boolean;
}
