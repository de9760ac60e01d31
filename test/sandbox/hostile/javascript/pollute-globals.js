// biome-ignore-all lint: hostile on purpose
// expect: "mine":1
for (const name of [
  "JSON",
  "Array",
  "Object",
  "String",
  "Promise",
  "Error",
  "TypeError",
  "Reflect",
]) {
  globalThis[name] = undefined;
}
globalThis.globalThis = {};
globalThis.undefined_ = 1;
export function transformEvent() {
  return { mine: 1 };
}
