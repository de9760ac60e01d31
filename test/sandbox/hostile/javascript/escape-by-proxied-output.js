// biome-ignore-all lint: hostile on purpose
// expect: "foreign":\[\]
const foreign = [];
const note = (value) => {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return;
  if (!(value instanceof Object) && Object.getPrototypeOf(value) !== null)
    foreign.push(typeof value);
};
export function transformEvent(event) {
  if (event.again) return { foreign };
  const trap = {
    get(_, trapName) {
      return (...values) => {
        for (const value of values) note(value);
        return Reflect[trapName](...values);
      };
    },
  };
  const output = new Proxy({ a: 1 }, new Proxy({}, trap));
  void JSON.stringify(output);
  return [output, { foreign }];
}
