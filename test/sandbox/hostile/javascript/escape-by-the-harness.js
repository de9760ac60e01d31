// biome-ignore-all lint: hostile on purpose
// expect: "step":"undefined","changed":false
export function transformEvent() {
  let changed = false;
  try {
    Object.defineProperty(globalThis, "pixelmill:step", { value: () => "mine" });
    changed = true;
  } catch {}
  try {
    delete globalThis["pixelmill:step"];
  } catch {}
  return { step: typeof globalThis["pixelmill:step"], changed };
}
