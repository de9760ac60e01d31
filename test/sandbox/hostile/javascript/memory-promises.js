// biome-ignore-all lint: hostile on purpose
// expect: memory|timed out
export async function transformEvent() {
  const kept = [];
  for (;;) kept.push(new Promise(() => {}).then(() => kept));
}
