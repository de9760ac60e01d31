// biome-ignore-all lint: hostile on purpose
// expect: "reached":\[\]
export async function transformEvent() {
  const reached = [];
  const promise = import("fs");
  for (const one of [promise, await promise.catch((error) => error)]) {
    try {
      reached.push(typeof one.constructor.constructor("return process")());
    } catch {}
  }
  return { reached };
}
