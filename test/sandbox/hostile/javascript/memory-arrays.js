// biome-ignore-all lint: hostile on purpose
// expect: memory
export function transformEvent() {
  const kept = [];
  for (;;) kept.push(new Array(100_000).fill(Math.random()));
}
