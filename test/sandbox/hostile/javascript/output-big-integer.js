// biome-ignore-all lint: hostile on purpose
// expect: BigInt
export function transformEvent() {
  return { n: 1n };
}
