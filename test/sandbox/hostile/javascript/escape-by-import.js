// biome-ignore-all lint: hostile on purpose
// expect: "reached":\[\],"tried":7
export async function transformEvent(event) {
  const names = [
    "fs",
    "node:fs",
    "bun",
    "bun:ffi",
    event.canary.file,
    "data:text/javascript,1",
    "",
  ];
  const reached = [];
  for (const name of names) {
    try {
      await import(name);
      reached.push(name);
    } catch {}
  }
  return { reached, tried: names.length };
}
