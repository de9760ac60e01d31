import type { Key, RangeOptions } from "lmdb";
import type { DryRun, RowWrite } from "./row-write.ts";
import type { Table } from "./table.ts";

export interface ChangeOptions {
  /**
   * `apply` may run on a view that lacks changes acknowledged before the call. It takes effect only
   * on the newest version all the same. Saves a node of a cluster the request for the log's end.
   */
  allowStale?: boolean;
}

/** Named tables with one way to change them. */
export interface Store {
  table<V, K extends Key>(name: string): Table<V, K>;
  /**
   * Runs `apply` as one transaction: all of its writes or, when it throws, none. Resolves once
   * they are on disk. `apply` is synchronous, and reads its own writes. Rejects with what `apply`
   * threw, or as `unavailable` when the disk did not take the writes; then they may still be there.
   */
  change<T>(apply: () => T, options?: ChangeOptions): Promise<T>;
  /**
   * Calls the listener with the tables that changes wrote, except changes of this store with
   * `allowStale`. Returns the function that ends this. A standalone store calls no listener.
   */
  listen(listener: (tables: ReadonlySet<string>) => void): () => void;
  /**
   * Resolves once every change acknowledged before the call, on any node, can be read here. A
   * standalone store resolves at once.
   */
  catchUp(): Promise<void>;
  /** A sentence about why changes are not stored; undefined while they are. */
  trouble(): string | undefined;
  /** Waits for the changes in progress; later changes are refused. */
  close(): Promise<void>;
}

/** The same store, for an owner that closes it: `close` has no effect. */
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

/** A store on this machine, which can run changes without committing them. */
export interface LocalStore extends Store {
  /**
   * Runs each of `applies` on top of those before it, as `change` would, and rolls all back. The
   * result has no writes of one that throws.
   */
  dryRun(applies: readonly (() => unknown)[]): Promise<DryRun>;
  /** Names of all tables, including those that this process has not opened. */
  tables(): string[];
  /** Encoded rows of a table, in order. */
  rows(table: string, range: RangeOptions): Iterable<{ key: Key; value: Uint8Array }>;
  /**
   * Within a change. Writes an encoded row. Within a dry run it only records the write: the row must
   * be stored already.
   */
  write(write: RowWrite): void;
  /** Whether the row is stored with this value. */
  has(row: RowWrite): boolean;
}
