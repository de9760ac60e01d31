// biome-ignore-all lint: hostile on purpose
// expect: "reached":\[\]
export async function transformEvent(event) {
  const reached = [];
  for (const type of ["text", "file", "json"]) {
    try {
      reached.push((await import(event.canary.file, { with: { type } })).default);
    } catch {}
  }
  return { reached };
}
