import type { Database, Key } from "lmdb";

type Reads = "get" | "doesExist" | "getRange" | "getKeys" | "getKeysCount";

/** A named table of a store. It stays the same when its store is opened again. */
export interface Table<V, K extends Key> extends Pick<Database<V, K>, Reads> {
  /** Inside a change only, like `remove`. */
  put(key: K, value: V): void;
  remove(key: K): void;
}

/** `opened` finds the table as it is open at the moment, or throws; `expectChange` as it says. */
export function tableOf<V, K extends Key>(
  opened: () => Database<V, K>,
  expectChange: () => void,
): Table<V, K> {
  return {
    get: (key, options) => opened().get(key, options),
    doesExist: (key: K) => opened().doesExist(key),
    getRange: (range) => opened().getRange(range),
    getKeys: (range) => opened().getKeys(range),
    getKeysCount: (range) => opened().getKeysCount(range),
    put(key, value) {
      expectChange();
      // LMDB answers with a promise of the whole transaction, which the change waits for.
      void opened().put(key, value);
    },
    remove(key) {
      expectChange();
      void opened().remove(key);
    },
  };
}
