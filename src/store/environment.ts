import { type Database, type Key, open, type RootDatabase } from "lmdb";
import { Packr } from "msgpackr";

/** An LMDB environment as it is open at the moment: its root and the tables of it. */
export interface Environment {
  root: RootDatabase;
  table(name: string): Database<unknown, Key>;
}

/** Opens an LMDB environment and its tables; throws what LMDB and the file system throw. */
export function openEnvironment(
  path: string,
  tablesMax: number,
  names: Iterable<string>,
): Environment {
  // lmdb bundles an msgpackr of its own; with ours passed in, only one is ever used. Plain maps,
  // since several processes write and a shared record structure would couple them. What callers
  // send is stored too, and a key `toJSON` of theirs is no function to call.
  const encoder = new Packr({ useRecords: false, useToJSON: false });
  const root = open({
    path,
    maxDbs: tablesMax,
    encoder,
    // With it, a failed commit also rejects a promise of lmdb's own that nobody holds, and an
    // unhandled rejection ends the process.
    eventTurnBatching: false,
    // A commit resolves when it is on disk. With overlapping syncs the disk comes later, by a
    // promise that never settles after a failed commit, and `close` would wait for it.
    overlappingSync: false,
  });
  const tables = new Map<string, Database<unknown, Key>>();
  const table = (name: string) => {
    const options = { name, encoder };
    const opened = tables.get(name) ?? root.openDB<unknown, Key>(options);
    tables.set(name, opened);
    return opened;
  };
  for (const name of names) table(name);
  return { root, table };
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

/** A key of the root, beside the names of tables: written to see whether the disk takes it. */
export const PROBE = "\u0000probe";
