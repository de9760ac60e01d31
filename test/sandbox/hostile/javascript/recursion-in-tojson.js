// biome-ignore-all lint: hostile on purpose
// expect: Maximum call stack
export function transformEvent() {
  return {
    toJSON() {
      return JSON.stringify(this);
    },
  };
}
