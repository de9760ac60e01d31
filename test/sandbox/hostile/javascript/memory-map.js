// biome-ignore-all lint: hostile on purpose
// expect: memory
export function transformEvent() {
  const map = new Map();
  for (let i = 0; ; i += 1) map.set(`key ${i}`, { i });
}
