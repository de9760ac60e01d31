// biome-ignore-all lint: hostile on purpose
// expect: is not an object|^\[\{
export function transformEvent() {
  return { a: JSON.rawJSON ? JSON.rawJSON('"x"') : 1, b: "\n{}\n{}", [`\n{"c":1}`]: "\u2028" };
}
