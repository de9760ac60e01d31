import type { Key, RangeOptions } from "lmdb";
import type { DryRun, RowWrite } from "./row-write.ts";
import type { Table } from "./table.ts";

export interface ChangeOptions {
  /**
   * `apply` need not know every change that was answered before the call: only what it writes must
   * be of the newest state. Spares nodes of a cluster the question what that is.
   */
  allowStale?: boolean;
}

/** An LMDB environment: named tables, and one way to change them. */
export interface Store {
  table<V, K extends Key>(name: string): Table<V, K>;
  /**
   * Runs `apply` as one transaction: all of its writes or, when it throws, none. Resolves once
   * they are on disk. `apply` is synchronous, and reads its own writes. Rejects with what `apply`
   * threw, or as `unavailable` when the disk did not take the writes; then they may still be there.
   */
  change<T>(apply: () => T, options?: ChangeOptions): Promise<T>;
  /**
   * Calls the listener after changes that were not made by `allowStale` here, with the tables that
   * they wrote; returns the function that ends this. On one machine nobody is called.
   */
  listen(listener: (tables: ReadonlySet<string>) => void): () => void;
  /**
   * Resolves once every change that was answered before the call, on whichever node, can be read
   * here. On one machine that is at once.
   */
  catchUp(): Promise<void>;
  /** Why changes are not stored at the moment, as a sentence; undefined while they are. */
  trouble(): string | undefined;
  /** Waits for the changes under way; later changes are refused. */
  close(): Promise<void>;
}

/** A store for a user that closes what it was given, which ends nothing here. */
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

/** A store that commits what it is told, and can say beforehand what that would write. */
export interface LocalStore extends Store {
  /**
   * Runs each of `applies` on top of those before it, as `change` would, and takes all of it back.
   * What one of them writes that throws is taken back at once, and counts for nothing.
   */
  dryRun(applies: readonly (() => unknown)[]): Promise<DryRun>;
  /** Names of all tables, also of those that this process has not opened. */
  tables(): string[];
  /** Rows of a table in order, as they are stored. */
  rows(table: string, range: RangeOptions): Iterable<{ key: Key; value: Uint8Array }>;
  /**
   * Within a change. Puts a row as it is stored. Within a rehearsal the row counts as written, and
   * nothing is: it must be there as it is.
   */
  write(write: RowWrite): void;
  /** Whether a row is stored like this. */
  has(row: RowWrite): boolean;
}
