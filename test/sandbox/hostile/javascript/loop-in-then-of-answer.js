// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
Object.defineProperty(Object.prototype, "then", {
  get() {
    for (;;);
  },
});
export async function transformEvent() {
  await fetchV2("http://answers");
}
