// biome-ignore-all lint: hostile on purpose
// expect: Expected at most 1000 outputs|memory|timed out
export function transformEvent(event) {
  return new Array(10_000_000).fill(event);
}
