// biome-ignore-all lint: hostile on purpose
// expect: "logged":true
// in: check
export function transformEvent() {
  for (let i = 0; i < 100_000; i += 1) log("x".repeat(10_000));
  return { logged: true };
}
