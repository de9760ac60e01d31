// biome-ignore-all lint: hostile on purpose
// expect: memory
export const transformEvent = () => {
  const kept = [];
  for (;;) kept.push(new Uint8Array(16 << 20).fill(1));
};
