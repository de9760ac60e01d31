// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
// in: check
export function transformEvent() {
  log({
    toJSON() {
      for (;;);
    },
  });
}
