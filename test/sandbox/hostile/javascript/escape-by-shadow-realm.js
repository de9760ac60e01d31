// biome-ignore-all lint: hostile on purpose
// expect: "reached":false
export function transformEvent() {
  try {
    return { reached: new ShadowRealm().evaluate("typeof Bun") === "object" };
  } catch {
    return { reached: false };
  }
}
