// biome-ignore-all lint: hostile on purpose
// expect: "mine":\[?"?forged|"mine":1
Array.prototype.toJSON = () => "forged";
Object.prototype.toJSON = undefined;
export function transformEvent() {
  return { mine: [1] };
}
