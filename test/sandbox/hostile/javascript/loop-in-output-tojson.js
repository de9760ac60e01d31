// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
export function transformEvent() {
  return {
    toJSON() {
      for (;;);
    },
  };
}
