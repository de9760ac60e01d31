import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Database, type Key, open } from "lmdb";
import { Packr } from "msgpackr";
import { ApiError } from "../errors.ts";
import type { Logger } from "../observe/log.ts";

/** A counter in the store that moves with what is derived from its part of the data. */
export type Epoch = "topology" | "program";

/**
 * The LMDB environment of the catalog: named tables, one way to change them, and epochs that
 * tell every process when what it derived is out of date.
 */
export interface Store {
  table<V, K extends Key>(name: string): Database<V, K>;
  /**
   * Runs `apply` as one transaction: all of its writes or, when it throws, none. Resolves once
   * they are on disk. `apply` is synchronous, and reads its own writes.
   */
  change<T>(apply: () => T): Promise<T>;
  /** As of this turn of the event loop, or of this process's last change. */
  epoch(name: Epoch): number;
  /** Inside a change only. */
  advance(name: Epoch): void;
  /** Waits for the changes under way; later ones are refused. */
  close(): Promise<void>;
}

/** Ids and other ASCII keys sort below this: the end of a range under a key's prefix. */
export const LAST = "\uffff";

const TABLES_MAX = 48;

export function openStore(directory: string, logger: Logger): Store {
  // Write keys and credentials are in it: for the operator alone.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // lmdb bundles an msgpackr of its own; with ours passed in, only one is ever used. Plain maps,
  // since several processes write and a shared record structure would couple them.
  const encoder = new Packr({ useRecords: false });
  const root = open({
    path: join(directory, "catalog.mdb"),
    maxDbs: TABLES_MAX,
    encoder,
    // With it, a failed commit also rejects a promise of lmdb's own that nobody holds, and an
    // unhandled rejection ends the process.
    eventTurnBatching: false,
    // A commit resolves when it is on disk. With overlapping syncs the disk comes later, by a
    // promise that never settles after a failed commit, and `close` would wait for it.
    overlappingSync: false,
  });
  const tables = new Map<string, Database>();
  const underWay = new Set<Promise<unknown>>();
  let closed = false;

  function table<V, K extends Key>(name: string): Database<V, K> {
    const options = { name, encoder };
    const opened = tables.get(name) ?? root.openDB<V, K>(options);
    tables.set(name, opened);
    return opened as Database<V, K>;
  }

  const epochs = table<number, Epoch>("epochs");
  /** Epochs read in this turn of the event loop: every pixel asks, and a read is 0.4 µs. */
  const epochsNow = new Map<Epoch, number>();

  function epoch(name: Epoch): number {
    const known = epochsNow.get(name);
    if (known !== undefined) return known;
    if (epochsNow.size === 0) setImmediate(() => epochsNow.clear());
    const value = epochs.get(name) ?? 0;
    epochsNow.set(name, value);
    return value;
  }

  async function commit<T>(apply: () => T): Promise<T> {
    try {
      // A throw inside lmdb's plain `transaction` leaves the writes before it; a child's do not.
      return await root.childTransaction(apply);
    } catch (error) {
      throw refusal(error, logger);
    } finally {
      epochsNow.clear();
    }
  }

  return {
    table,
    async change(apply) {
      // lmdb never settles a write to a closed environment.
      if (closed) throw new ApiError("unavailable", "The catalog is closed");
      const change = commit(apply);
      underWay.add(change);
      try {
        return await change;
      } finally {
        underWay.delete(change);
      }
    },
    epoch,
    advance(name) {
      epochs.put(name, (epochs.get(name) ?? 0) + 1);
    },
    async close() {
      if (closed) return;
      closed = true;
      await Promise.allSettled(underWay);
      await root.close();
    },
  };
}

/** What a rule threw stays as it is; a commit that lmdb could not make is `unavailable`. */
function refusal(error: unknown, logger: Logger): unknown {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  Promise.resolve(error.commitError).catch((reason: unknown) => {
    logger.error({ err: reason }, "catalog commit failed");
  });
  return new ApiError("unavailable", "The change could not be stored");
}
