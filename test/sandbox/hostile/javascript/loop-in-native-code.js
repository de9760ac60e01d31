// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out|memory|Out of
export function transformEvent() {
  for (;;) new Array(2 ** 24).fill(0).reverse().indexOf(1);
}
