import type { Database, Key } from "lmdb";

type Reads = "get" | "doesExist" | "getRange" | "getKeys" | "getKeysCount";

/** A named table of a store. The object stays valid when its store is opened again. */
export interface Table<V, K extends Key> extends Pick<Database<V, K>, Reads> {
  /** Only inside a change, like `remove`. */
  put(key: K, value: V): void;
  remove(key: K): void;
}

/**
 * `opened` finds the table in the environment that is open at the moment, or throws. `note` is told
 * of every write before it is made, and throws outside a change; a removal comes without a value.
 */
export function tableOf<V, K extends Key>(
  opened: () => Database<V, K>,
  note: (key: K, ...value: [V?]) => void,
): Table<V, K> {
  return {
    get: (key, options) => opened().get(key, options),
    doesExist: (key: K) => opened().doesExist(key),
    getRange: (range) => opened().getRange(range),
    getKeys: (range) => opened().getKeys(range),
    getKeysCount: (range) => opened().getKeysCount(range),
    put(key, value) {
      note(key, value);
      // LMDB answers with a promise of the whole transaction, for which the change waits.
      void opened().put(key, value);
    },
    remove(key) {
      note(key);
      void opened().remove(key);
    },
  };
}
