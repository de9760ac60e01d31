// biome-ignore-all lint: hostile on purpose
// expect: "left":0
export function transformEvent() {
  for (const name of Reflect.ownKeys(globalThis)) {
    try {
      delete globalThis[name];
    } catch {}
  }
  return { left: 0 };
}
