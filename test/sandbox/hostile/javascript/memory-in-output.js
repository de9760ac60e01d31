// biome-ignore-all lint: hostile on purpose
// expect: larger than|memory
export function transformEvent() {
  return { text: "x".repeat(200 << 20) };
}
