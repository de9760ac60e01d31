// biome-ignore-all lint: hostile on purpose
// expect: memory|Out of
export function transformEvent() {
  let text = "x";
  for (;;) text = (text + text).toUpperCase();
}
