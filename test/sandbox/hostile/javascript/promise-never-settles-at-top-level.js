// biome-ignore-all lint: hostile on purpose
// expect: ^Timed out$
await new Promise(() => {});
export function transformEvent() {}
