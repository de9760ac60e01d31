import type { Key, RangeOptions } from "lmdb";
import type { DryRun, RowWrite } from "./row-write.ts";
import type { Table } from "./table.ts";

export interface ChangeOptions {
  /**
   * Whether `apply` may run without checking that this node has the newest writes of other nodes.
   * This saves a request to the brokers. If this node lacks such a write and `apply` writes a row,
   * `apply` runs again with the newest writes. If `apply` writes nothing, its result may be out of
   * date.
   */
  allowStale?: boolean;
}

/** Storage of named tables, which can be changed only in transactions. */
export interface Store {
  table<V, K extends Key>(name: string): Table<V, K>;
  /**
   * Runs the synchronous function `apply` as one transaction. Resolves with its result once its
   * writes are durable. When `apply` throws, nothing is written and the promise rejects with that
   * error. When the commit fails, the promise rejects with an `unavailable` error, although the
   * writes may have been stored. A cluster node may call `apply` several times.
   */
  change<T>(apply: () => T, options?: ChangeOptions): Promise<T>;
  /**
   * Registers a listener, and returns a function that removes it. The listener is called with the
   * names of the changed tables after each commit of any node of the cluster. One commit can
   * contain several calls of `change`. If all calls in a commit of this store object had
   * `allowStale`, the listener is not called for the commit. A standalone store never calls
   * listeners.
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
   * Runs the functions one after another in one transaction, then rolls the transaction back. Each
   * function sees the writes of the functions before it, except those made with `write`. If a
   * function throws, its writes are undone and not in the result.
   */
  dryRun(applies: readonly (() => unknown)[]): Promise<DryRun>;
  /** Returns the sorted names of all tables, including tables that this process has not opened. */
  tables(): string[];
  /** Iterates over the encoded rows of a table, by ascending key. `range` restricts the keys. */
  rows(table: string, range: RangeOptions): Iterable<{ key: Key; value: Uint8Array }>;
  /**
   * Writes an encoded row. Throws outside a transaction. In a dry run (a transaction that is rolled
   * back), the write is only recorded, and later reads in the dry run return the old value. In a
   * dry run, the caller must therefore write only the value that the row already has. A compaction
   * does so to append the row to the log again.
   */
  write(write: RowWrite): void;
  /**
   * Whether the write would change nothing: the row already has the value, or the row that the
   * write would remove does not exist.
   */
  has(row: RowWrite): boolean;
}
