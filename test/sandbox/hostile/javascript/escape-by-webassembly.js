// biome-ignore-all lint: hostile on purpose
// expect: "reached":false
export function transformEvent() {
  try {
    new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
    return { reached: true };
  } catch {
    return { reached: false };
  }
}
