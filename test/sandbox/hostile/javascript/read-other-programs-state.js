// biome-ignore-all lint: hostile on purpose
// expect: "seen":"undefined"
globalThis.spy = [];
const { push } = Array.prototype;
Array.prototype.push = function (...values) {
  globalThis.spy.push?.(...values);
  return Reflect.apply(push, this, values);
};
export function transformEvent() {
  return { seen: typeof globalThis.bystander };
}
