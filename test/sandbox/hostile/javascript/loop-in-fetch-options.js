// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
export async function transformEvent() {
  await fetch({
    toString() {
      for (;;);
    },
  });
}
