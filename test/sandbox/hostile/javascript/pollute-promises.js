// biome-ignore-all lint: hostile on purpose
// expect: "mine":1|^Error: constructor
Object.defineProperty(Promise, Symbol.species, {
  get() {
    throw new Error("species");
  },
});
Object.defineProperty(Promise.prototype, "constructor", {
  get() {
    throw new Error("constructor");
  },
});
export async function transformEvent() {
  return { mine: 1 };
}
