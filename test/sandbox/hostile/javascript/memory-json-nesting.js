// biome-ignore-all lint: hostile on purpose
// expect: memory|stack|Out of|JSON
export function transformEvent() {
  const depth = 5_000_000;
  return { parsed: JSON.parse("[".repeat(depth) + "]".repeat(depth)).length };
}
