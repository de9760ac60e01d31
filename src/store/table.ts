import { asBinary, type Database, type Key } from "lmdb";

type Reads = "get" | "doesExist" | "getRange" | "getKeys" | "getKeysCount";

/**
 * A named table of a store. It stays usable when the store reopens its file after a failed commit.
 */
export interface Table<V, K extends Key> extends Pick<Database<V, K>, Reads> {
  /**
   * Reads a value. If the current snapshot lacks the row, reads from a new snapshot with the newest
   * commits of all processes. The other methods read only the current snapshot, which lasts for one
   * iteration of the event loop.
   */
  getNewest(key: K): V | undefined;
  /** Writes a row. Throws outside a transaction. */
  put(key: K, value: V): void;
  /** Removes a row if it exists. Throws outside a transaction. */
  remove(key: K): void;
}

/**
 * Creates the table object for an LMDB table.
 * - `opened`: returns the LMDB table, or throws while the store is closed
 * - `note`: called before each write with key and value, or with only the key to remove a row; can
 *   throw to refuse the write, or return bytes to store as the encoded row
 */
export function tableOf<V, K extends Key>(
  opened: () => Database<V, K>,
  note: (key: K, ...value: [V?]) => Uint8Array | undefined,
): Table<V, K> {
  return {
    get: (key, options) => opened().get(key, options),
    getNewest(key) {
      const table = opened();
      const value = table.get(key);
      if (value !== undefined) return value;
      table.resetReadTxn();
      return table.get(key);
    },
    doesExist: (key: K) => opened().doesExist(key),
    getRange: (range) => opened().getRange(range),
    getKeys: (range) => opened().getKeys(range),
    getKeysCount: (range) => opened().getKeysCount(range),
    put(key, value) {
      const encoded = note(key, value) as Buffer | undefined;
      // LMDB returns a promise of the whole transaction, which the change awaits.
      void opened().put(key, encoded ? (asBinary(encoded) as V) : value);
    },
    remove(key) {
      note(key);
      void opened().remove(key);
    },
  };
}
