// biome-ignore-all lint: hostile on purpose
// expect: memory
export function transformEvent() {
  let last = () => 0;
  for (;;) {
    const before = last;
    const held = [1, 2, 3, 4, 5, 6, 7, 8];
    last = () => before() + held.length;
  }
}
