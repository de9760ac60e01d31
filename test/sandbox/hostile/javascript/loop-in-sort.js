// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
export function transformEvent() {
  [3, 2, 1].sort(() => {
    for (;;);
  });
}
