// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
export function transformEvent() {
  "a".replace(/a/, () => {
    for (;;);
  });
}
