// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
export function transformEvent() {
  return { matched: /^(x+x+)+y/.test("x".repeat(65_536)) };
}
