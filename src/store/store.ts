import type { Key, RangeOptions } from "lmdb";
import type { DryRun, RowWrite } from "./row-write.ts";
import type { Table } from "./table.ts";

export interface ChangeOptions {
  /**
   * Lets `apply` run first on data that may lack acknowledged changes of other nodes. If the data
   * is stale, the change is not committed and `apply` runs again. Saves a request to the brokers.
   */
  allowStale?: boolean;
}

/** Named tables that are changed only in transactions. */
export interface Store {
  table<V, K extends Key>(name: string): Table<V, K>;
  /**
   * Runs the synchronous function `apply` as one transaction. Resolves with its result once its
   * writes are durable. When `apply` throws, nothing is written and the promise rejects with that
   * error. Rejects with an `unavailable` error when the commit fails; the writes may still exist
   * then. A cluster node may call `apply` several times.
   */
  change<T>(apply: () => T, options?: ChangeOptions): Promise<T>;
  /**
   * Calls the listener with the names of tables that changes of any node wrote, until the returned
   * function is called. Skips changes that this store made with `allowStale`. A standalone store
   * never calls the listener.
   */
  listen(listener: (tables: ReadonlySet<string>) => void): () => void;
  /**
   * Resolves once every change acknowledged before the call, on any node, can be read here. A
   * standalone store resolves at once.
   */
  catchUp(): Promise<void>;
  /** A sentence about why changes cannot be stored; undefined while they can. */
  trouble(): string | undefined;
  /** Waits for the changes in progress, then closes the store. Later changes reject. */
  close(): Promise<void>;
}

/** Wraps a store so that `close` does nothing, for users that must not close a shared store. */
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

/** A store in a local file. It can also run changes without committing them. */
export interface LocalStore extends Store {
  /**
   * Runs the functions in order in one transaction and rolls it back. Each sees the writes of those
   * before it. The result leaves out the writes of a function that throws.
   */
  dryRun(applies: readonly (() => unknown)[]): Promise<DryRun>;
  /** Sorted names of all tables, including tables that this process has not opened. */
  tables(): string[];
  /** Iterates over the encoded rows of a table within a range, by ascending key. */
  rows(table: string, range: RangeOptions): Iterable<{ key: Key; value: Uint8Array }>;
  /**
   * Writes an encoded row; throws outside a change. In a dry run it only records the write, so
   * reads do not see it. The caller must then write values that are stored already.
   */
  write(write: RowWrite): void;
  /** Whether the row is stored with this value, or for a removal, whether it does not exist. */
  has(row: RowWrite): boolean;
}
