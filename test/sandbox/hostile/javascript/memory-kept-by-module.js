// biome-ignore-all lint: hostile on purpose
// expect: memory
const kept = [];
export function transformEvent() {
  for (;;) kept.push(new Float64Array(1 << 20).fill(1));
}
