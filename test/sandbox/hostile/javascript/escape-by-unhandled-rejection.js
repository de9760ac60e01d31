// biome-ignore-all lint: hostile on purpose
// expect: "escaped":false
let outer;
class E extends Error {
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    outer ??= inspect.constructor("return this")();
    return "";
  }
}
export async function transformEvent(event) {
  Promise.reject(new Proxy(new E("x"), {}));
  for (let i = 0; i < 5; i++) await import("x").catch(() => {});
  const { process, Bun } = outer ?? {};
  return {
    escaped: outer !== undefined,
    pid: process?.pid,
    uid: process?.getuid(),
    bun: Bun?.version,
    ffi: typeof process?.getBuiltinModule("bun:ffi").dlopen,
  };
}
