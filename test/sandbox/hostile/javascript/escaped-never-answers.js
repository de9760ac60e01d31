// biome-ignore-all lint: hostile on purpose
// expect: timed out
export const transformEvent = () => new Promise(() => setInterval(() => {}, 1_000));
