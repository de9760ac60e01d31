import { asBinary, type Database, type Key } from "lmdb";

type Reads = "get" | "doesExist" | "getRange" | "getKeys" | "getKeysCount";

/** A named table of a store. The object stays valid when its store is opened again. */
export interface Table<V, K extends Key> extends Pick<Database<V, K>, Reads> {
  /**
   * The value as of the newest commit of any process. Other reads of one turn of the event loop see
   * the same state, which may be older than a commit that a request of this turn was sent after.
   */
  getNewest(key: K): V | undefined;
  /** Only inside a change, like `remove`. */
  put(key: K, value: V): void;
  remove(key: K): void;
}

/**
 * `opened` finds the table in the environment that is open at the moment, or throws. `note` is told
 * of every write before it is made, and throws outside a change; a removal comes without a value.
 * Where `note` has encoded the value, it returns the bytes.
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
      // LMDB answers with a promise of the whole transaction, for which the change waits.
      void opened().put(key, encoded ? (asBinary(encoded) as V) : value);
    },
    remove(key) {
      note(key);
      void opened().remove(key);
    },
  };
}
