import { ApiError } from "../errors.ts";
import { type Store, withoutClose } from "./store.ts";

/** Access to a store that is shared with others, and that can be taken away. */
export interface RevocableStore extends Store {
  /**
   * Rejects all calls in progress and later ones, so that nothing waits for a store that cannot be
   * written. A change in progress may still take effect.
   */
  revoke(): void;
}

/** Wraps a store, so that its users can stop waiting. Its `close` does nothing. */
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
