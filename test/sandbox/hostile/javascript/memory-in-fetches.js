// biome-ignore-all lint: hostile on purpose
// expect: Expected a request of at most|Expected at most|timed out|memory
export async function transformEvent() {
  const asked = [];
  for (let i = 0; i < 10_000; i += 1) {
    asked.push(fetchV2("u", { body: "x".repeat(1 << 18) }));
  }
  await Promise.all(asked);
}
