// biome-ignore-all lint: hostile on purpose
// expect: ^Error: mine
export function transformEvent() {
  throw new Error("mine");
}
//# sourceURL=/etc/passwd
