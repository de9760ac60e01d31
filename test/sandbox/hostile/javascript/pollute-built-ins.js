// biome-ignore-all lint: hostile on purpose
// expect: "mine":1
const { stringify } = JSON;
JSON.stringify = () => '{"forged":true}';
JSON.parse = () => [{ forged: true }];
Array.prototype.push = () => 0;
Array.prototype[Symbol.iterator] = function* () {};
Array.isArray = () => true;
Object.prototype.toString = () => "[object Array]";
String.prototype.slice = () => "forged";
Promise.prototype.then = () => {};
Reflect.apply = () => "forged";
Function.prototype.call = () => "forged";
globalThis.Promise = class {};
export async function transformEvent() {
  await null;
  return { mine: 1, text: stringify([1]) };
}
