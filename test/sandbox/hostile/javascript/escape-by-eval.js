// biome-ignore-all lint: hostile on purpose
// expect: "reached":\[\],"tried":3
export function transformEvent() {
  const attempts = [
    () => eval("process"),
    () => (0, eval)("process"),
    () => Reflect.apply(eval, undefined, ["globalThis.Bun"]),
  ];
  const reached = [];
  for (const attempt of attempts) {
    try {
      reached.push(typeof attempt());
    } catch {}
  }
  return { reached, tried: attempts.length };
}
