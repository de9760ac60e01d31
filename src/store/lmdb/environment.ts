import { type Database, type Key, open, type RootDatabase } from "lmdb";
import { Packr } from "msgpackr";

/** An LMDB environment as it is open at the moment: its root and the tables of it. */
export interface Environment {
  root: RootDatabase;
  table(name: string): Database<unknown, Key>;
  /** Runs a transaction, which is taken back as a whole when `apply` throws or returns `ABORT`. */
  transact(apply: () => unknown): Promise<unknown>;
}

/** Opens an LMDB environment and its tables; throws what LMDB and the file system throw. */
export function openEnvironment(
  path: string,
  tablesMax: number,
  names: Iterable<string>,
  { isView = false } = {},
): Environment {
  // lmdb bundles an msgpackr of its own; with ours passed in, that copy is never used. Values are
  // stored as plain maps: several processes write, and msgpackr's shared record structures would
  // couple them. Bodies that callers send are stored too, and a key `toJSON` of theirs must not be
  // called.
  const encoder = new Packr({ useRecords: false, useToJSON: false });
  const root = open({
    path,
    maxDbs: tablesMax,
    encoder,
    // With event turn batching, a failed commit also rejects a promise of lmdb's own that nobody
    // holds, and an unhandled rejection ends the process.
    eventTurnBatching: false,
    // Without overlapping syncs, a commit resolves when it is on disk. With them the sync is told
    // by a second promise, which never settles after a failed commit, and `close` would wait for
    // it.
    overlappingSync: false,
    noSync: isView,
  });
  const tables = new Map<string, Database<unknown, Key>>();
  const table = (name: string) => {
    const options = { name, encoder };
    const opened = tables.get(name) ?? root.openDB<unknown, Key>(options);
    tables.set(name, opened);
    return opened;
  };
  for (const name of names) table(name);
  // When a function throws, lmdb's plain `transaction` keeps the writes before the throw; these two
  // drop them. A commit that nobody syncs takes less than to have another thread make it.
  const transact = async (apply: () => unknown) =>
    isView ? root.transactionSync(apply) : root.childTransaction(apply);
  return { root, table, transact };
}

/**
 * Whether an environment can still be read. After a failed write of a meta page LMDB refuses
 * everything, reads included, until the environment is opened anew (`MDB_PANIC`).
 */
export function isAlive({ root }: Environment): boolean {
  try {
    root.resetReadTxn();
    root.doesExist(PROBE);
    return true;
  } catch {
    return false;
  }
}

/**
 * A key of the root table, beside the names of tables, that is written to see whether the disk
 * takes writes.
 */
export const PROBE = "\u0000probe";

/**
 * What LMDB or the disk says against a transaction; undefined when the transaction worked, or when
 * its `apply` refused. A commit that fails tells its reason by a promise of its own; a failing
 * write within the transaction throws an error with LMDB's or the system's number. The returned
 * promise never rejects.
 */
export function commitFault(outcome: PromiseSettledResult<unknown>): Promise<unknown> | undefined {
  if (outcome.status === "fulfilled" || !(outcome.reason instanceof Error)) return undefined;
  const error: Error & { commitError?: unknown; code?: unknown } = outcome.reason;
  if (error.commitError !== undefined) return Promise.resolve(error.commitError).catch((it) => it);
  return typeof error.code === "number" ? Promise.resolve(error) : undefined;
}
