// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out|memory|Out of|BigInt
export function transformEvent() {
  let value = 3n;
  for (;;) value = value * value;
}
