// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
export async function transformEvent() {
  for (;;) await 0;
}
