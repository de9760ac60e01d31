// biome-ignore-all lint: hostile on purpose
// expect: "blocked":false
export function transformEvent() {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return { blocked: true };
  } catch {
    return { blocked: false };
  }
}
