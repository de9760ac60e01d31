// biome-ignore-all lint: hostile on purpose
// expect: memory
export function transformEvent() {
  return { length: new Array(1e9).fill(1).length };
}
