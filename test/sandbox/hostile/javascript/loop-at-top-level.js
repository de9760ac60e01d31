// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
for (;;);
export function transformEvent() {}
