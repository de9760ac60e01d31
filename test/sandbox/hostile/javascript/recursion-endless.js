// biome-ignore-all lint: hostile on purpose
// expect: Maximum call stack
export function transformEvent() {
  return transformEvent();
}
