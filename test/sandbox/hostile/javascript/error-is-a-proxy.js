// biome-ignore-all lint: hostile on purpose
// expect: cannot be shown
export function transformEvent() {
  throw new Proxy(
    {},
    {
      get() {
        throw new Error("again");
      },
      getPrototypeOf() {
        throw new Error("again");
      },
    },
  );
}
