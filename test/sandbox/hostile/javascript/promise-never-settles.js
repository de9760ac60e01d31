// biome-ignore-all lint: hostile on purpose
// expect: ^Timed out$
export async function transformEvent() {
  await new Promise(() => {});
}
