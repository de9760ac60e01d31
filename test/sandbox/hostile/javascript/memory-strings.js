// biome-ignore-all lint: hostile on purpose
// expect: memory
export function transformEvent() {
  const kept = [];
  for (let i = 0; ; i += 1) kept.push(String(i).repeat(1_000_000).toUpperCase());
}
