// biome-ignore-all lint: hostile on purpose
// expect: ^(Error: )?x{100}|memory
export function transformEvent() {
  throw new Error("x".repeat(50 << 20));
}
