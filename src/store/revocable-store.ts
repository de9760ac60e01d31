import { ApiError } from "../errors.ts";
import { type Store, withoutClose } from "./store.ts";

/** A shared store that its users can use only until `revoke` is called. */
export interface RevocableStore extends Store {
  /**
   * Rejects all calls of `change` and `catchUp` that are in progress, and all later ones, so that
   * no caller waits for a store that cannot be written. A change in progress may still take effect.
   */
  revoke(): void;
}

/** Wraps a store so that access to it can be revoked. The wrapper's `close` does nothing. */
export function revocable(store: Store): RevocableStore {
  const waiting = new Set<(error: Error) => void>();
  let isRevoked = false;
  const unlessRevoked = async <T>(call: () => Promise<T>): Promise<T> => {
    if (isRevoked) throw revokedError();
    const { promise: revoked, reject } = Promise.withResolvers<never>();
    waiting.add(reject);
    try {
      return await Promise.race([call(), revoked]);
    } finally {
      waiting.delete(reject);
    }
  };
  return {
    ...withoutClose(store),
    change: (apply, options) => unlessRevoked(() => store.change(apply, options)),
    catchUp: () => unlessRevoked(() => store.catchUp()),
    revoke() {
      isRevoked = true;
      for (const reject of waiting) reject(revokedError());
    },
  };
}

const revokedError = () =>
  new ApiError("unavailable", "This node has given up its access to the store");
