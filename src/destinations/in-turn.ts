import type { OpenDestination } from "./destination.ts";

/**
 * Returns an open destination that calls `deliver` for one delivery after the other, in the order
 * in which the deliveries were requested. Its own `close` waits for the last delivery, and then
 * calls the argument `close`.
 */
export function inTurn(deliver: OpenDestination["deliver"], close: () => void): OpenDestination {
  let last: Promise<unknown> = Promise.resolve();
  return {
    deliver(events, signal) {
      const result = last.then(() => deliver(events, signal));
      last = result.catch(() => {});
      return result;
    },
    async close() {
      await last;
      close();
    },
  };
}
