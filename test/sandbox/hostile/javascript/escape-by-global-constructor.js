// biome-ignore-all lint: hostile on purpose
// expect: "foreign":\[\]
export function transformEvent() {
  const foreign = [];
  for (let object = globalThis; object; object = Object.getPrototypeOf(object)) {
    const { constructor } = object;
    if (constructor !== Object) foreign.push(String(constructor));
  }
  return { foreign };
}
