// biome-ignore-all lint: hostile on purpose
// expect: memory|too large|regular expression|timed out
export function transformEvent() {
  return { made: String(new RegExp("(a|b){1,1000}".repeat(50_000)).test("a")).length };
}
