// biome-ignore-all lint: hostile on purpose
// expect: "mine":1|broke the built-ins|^Error: set
for (const key of ["0", "1", "length", "then", "error", "toJSON", "message", "stack"]) {
  try {
    Object.defineProperty(Object.prototype, key, {
      set() {
        throw new Error("set");
      },
      get: () => undefined,
      configurable: true,
    });
  } catch {}
}
export function transformEvent() {
  return { mine: 1 };
}
