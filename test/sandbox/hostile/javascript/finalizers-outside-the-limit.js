// biome-ignore-all lint: hostile on purpose
// expect: "there":false
export function transformEvent() {
  if (typeof FinalizationRegistry === "undefined") return { there: false };
  const registry = new FinalizationRegistry(() => {
    for (;;);
  });
  for (let i = 0; i < 1e6; i += 1) registry.register({}, i);
  return { there: true };
}
