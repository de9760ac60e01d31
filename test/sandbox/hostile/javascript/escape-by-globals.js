// biome-ignore-all lint: hostile on purpose
// expect: "found":\[\]
export function transformEvent() {
  const names =
    "process Bun require Buffer global.process fetch.constructor setTimeout setImmediate queueMicrotask Worker WebSocket XMLHttpRequest URL TextDecoder crypto performance navigator __dirname module exports Loader ShadowRealm WebAssembly SharedArrayBuffer Atomics FinalizationRegistry structuredClone".split(
      " ",
    );
  return { found: names.filter((name) => !name.includes(".") && name in globalThis) };
}
