// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
export function transformEvent() {
  throw Object.defineProperty(new Error("x"), "stack", {
    get() {
      for (;;);
    },
  });
}
