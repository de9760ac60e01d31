// biome-ignore-all lint: hostile on purpose
// expect: "escaped":false
let outer;
Promise.prototype.catch = function (f) {
  outer = f.constructor("return this")();
  return this.then(undefined, f);
};
await import("y").then(
  () => {},
  () => {},
);
export function transformEvent(event) {
  const { process, Bun } = outer ?? {};
  return {
    escaped: outer !== undefined,
    pid: process?.pid,
    argv: process?.argv,
    env: process && { ...process.env },
    bun: Bun?.version,
    ffi: typeof process?.getBuiltinModule("bun:ffi").dlopen,
  };
}
