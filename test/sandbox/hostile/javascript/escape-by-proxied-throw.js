// biome-ignore-all lint: hostile on purpose
// expect: cannot be shown|foreign: 0
let count = 0;
export function transformEvent() {
  const trap = {
    get(_, trapName) {
      return (...values) => {
        for (const value of values) {
          if (typeof value === "function" && !(value instanceof Function)) count += 1;
        }
        if (trapName === "get" && values[1] === "message") return `foreign: ${count}`;
        return Reflect[trapName](...values);
      };
    },
  };
  throw new Proxy({ message: "", stack: undefined }, new Proxy({}, trap));
}
