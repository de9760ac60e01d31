import { type Database, type Key, open } from "lmdb";
import { Packr } from "msgpackr";

/** An open LMDB environment: one root table, and named tables. */
export type Environment = ReturnType<typeof openEnvironment>;

/**
 * Maximum number of named tables that LMDB opens in an environment. The number leaves room for
 * tables that a newer release adds, so that an older release can open that release's files.
 */
const TABLES_MAX = 256;

/** Opens the LMDB environment at `path`. Throws the errors of LMDB and of the file system. */
export function openEnvironment(path: string, names: Iterable<string>, { isView = false } = {}) {
  // This encoder replaces the copy of msgpackr that lmdb bundles. Values are plain maps, because
  // msgpackr's shared record structures would couple the processes that write. Request bodies are
  // stored too, and a `toJSON` key in them must not be called.
  const encoder = new Packr({ useRecords: false, useToJSON: false });
  const root = open({
    path,
    maxDbs: TABLES_MAX,
    encoder,
    // With event turn batching, a failed commit also rejects a promise inside lmdb, and that
    // unhandled rejection ends the process.
    eventTurnBatching: false,
    // Without overlapping syncs, a commit resolves when it is on disk. With them a second promise
    // resolves at the sync. It never settles after a failed commit, and `close` would wait for it.
    overlappingSync: false,
    noSync: isView,
  });
  const tables = new Map<string, Database<unknown, Key>>();
  const table = (name: string) => {
    const options = { name, encoder };
    return tables.getOrInsertComputed(name, () => root.openDB<unknown, Key>(options));
  };
  for (const name of names) table(name);
  /**
   * Runs `apply` in a transaction, and rolls the transaction back when `apply` throws or returns
   * `ABORT`; lmdb's own method `transaction` would keep what `apply` wrote. With `isView`, a commit
   * runs in this thread, because it does not wait for the disk.
   */
  const transact = async (apply: () => unknown): Promise<unknown> =>
    isView ? root.transactionSync(apply) : root.childTransaction(apply);
  return { root, table, transact };
}

/**
 * Whether LMDB can still read the environment. After a failed write of a meta page, LMDB refuses
 * all calls (error `MDB_PANIC`) until the environment is opened again.
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
 * Key of a test row in the root table. This row is written to find out whether the disk accepts
 * writes.
 */
export const PROBE = "\u0000probe";

/**
 * Returns a promise of the error with which LMDB or the disk made a transaction fail; the promise
 * never rejects. Returns undefined if the transaction succeeded, or failed only because its `apply`
 * threw.
 */
export function commitFault(outcome: PromiseSettledResult<unknown>): Promise<unknown> | undefined {
  if (outcome.status === "fulfilled" || !(outcome.reason instanceof Error)) return undefined;
  const error: Error & { commitError?: unknown; code?: unknown } = outcome.reason;
  if (error.commitError !== undefined) return Promise.resolve(error.commitError).catch((it) => it);
  return typeof error.code === "number" ? Promise.resolve(error) : undefined;
}
