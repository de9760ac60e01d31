// biome-ignore-all lint: hostile on purpose
// expect: ^null$
export function transformEvent() {
  throw null;
}
