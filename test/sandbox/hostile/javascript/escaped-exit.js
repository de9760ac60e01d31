// biome-ignore-all lint: hostile on purpose
// expect: crashed
export const transformEvent = () => {
  process.exit(0);
};
