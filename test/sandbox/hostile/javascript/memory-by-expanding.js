// biome-ignore-all lint: hostile on purpose
// expect: larger than|memory|timed out
export function transformEvent(event) {
  return new Array(10_000_000).fill(event);
}
