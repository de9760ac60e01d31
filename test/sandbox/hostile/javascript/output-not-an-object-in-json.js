// biome-ignore-all lint: hostile on purpose
// expect: is not an object
export function transformEvent() {
  return { toJSON: () => "text\n{}" };
}
