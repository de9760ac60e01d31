// biome-ignore-all lint: hostile on purpose
// expect: memory
export function transformEvent() {
  let chain;
  for (;;) chain = { chain, more: { a: 1, b: [chain] } };
}
