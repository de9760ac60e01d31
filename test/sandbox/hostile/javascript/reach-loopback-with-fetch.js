// biome-ignore-all lint: hostile on purpose
// expect: "answer":"ERROR"
export async function transformEvent(event) {
  return { answer: await fetch(event.canary.url) };
}
