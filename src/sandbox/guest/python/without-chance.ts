import nodeCrypto from "node:crypto";

/** Time that `Date.now` returns while the clock is fixed, in milliseconds: a day in 2023. */
const NOW_MS = 1_700_000_000_000;

/**
 * Gives this process a constant clock, time zone and sequence of random numbers, so that Pyodide
 * makes the same snapshot at each build. Disposing of the result restores them. Call this only in
 * the process that makes the snapshot.
 */
export function withoutChance(): Disposable {
  let state = 1;
  const fill = <T extends NodeJS.ArrayBufferView>(view: T): T => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let at = 0; at < bytes.length; at++) {
      // A linear congruential generator, as in the C standard.
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      bytes[at] = state >>> 16;
    }
    return view;
  };
  const stack = new DisposableStack();
  const restores = [
    replace(Date, "now", () => NOW_MS),
    replace(Date.prototype, "getTimezoneOffset", () => 0),
    replace(performance, "now", () => 0),
    replace(Math, "random", () => 0.5),
    replace(crypto, "getRandomValues", fill as typeof crypto.getRandomValues),
    replace(nodeCrypto, "randomFillSync", fill as typeof nodeCrypto.randomFillSync),
  ];
  for (const restore of restores) stack.defer(restore);
  return stack;
}

/** Sets property `name` of `object` to `value`. Returns a function that restores the old value. */
function replace<T, K extends keyof T>(object: T, name: K, value: T[K]): () => void {
  const before = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  return () => {
    if (before === undefined) delete object[name];
    else Object.defineProperty(object, name, before);
  };
}
