// biome-ignore-all lint: hostile on purpose
// expect: memory
export function transformEvent() {
  for (let i = 0; ; i += 1) Symbol.for(`symbol ${i} ${"x".repeat(1_000)}`);
}
