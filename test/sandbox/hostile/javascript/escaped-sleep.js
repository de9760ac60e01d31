// biome-ignore-all lint: hostile on purpose
// expect: timed out
export const transformEvent = () => {
  Bun.sleepSync(600_000);
};
