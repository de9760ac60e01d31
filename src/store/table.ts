import { asBinary, type Database, type Key } from "lmdb";

type Reads = "get" | "doesExist" | "getRange" | "getKeys" | "getKeysCount";

/** A named table of a store. The object stays valid when its store is opened again. */
export interface Table<V, K extends Key> extends Pick<Database<V, K>, Reads> {
  /**
   * The value as of the newest commit of any process. Other reads within one turn of the event loop
   * see one snapshot, which may be older.
   */
  getNewest(key: K): V | undefined;
  /** Only inside a change, like `remove`. */
  put(key: K, value: V): void;
  remove(key: K): void;
}

/**
 * Creates a table. `opened` returns it from the open environment, or throws. `note` is called before
 * each write, without a value for a removal, and throws outside a change. It returns the bytes of a
 * value that it has encoded.
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
