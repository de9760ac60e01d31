// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
await null;
for (;;);
export function transformEvent() {}
