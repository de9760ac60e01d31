// biome-ignore-all lint: hostile on purpose
// Hostile programs begin with this where they say so: `look` notes each value of another realm in
// `seen`, and tries to reach that realm's global object through it.
const seen = { foreign: [], tried: 0, escaped: [] };
const own = new Set([Function.prototype, Object.prototype]);
const getProto = Object.getPrototypeOf;
function foreign(value) {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  let proto = value;
  let last = value;
  for (let i = 0; i < 50 && proto !== null; i += 1) {
    last = proto;
    proto = getProto(proto);
  }
  if (last === value && getProto(value) === null) return false;
  return last !== Object.prototype && typeof last.hasOwnProperty === "function";
}
let busy = false;
function look(name, value) {
  if (busy) return;
  busy = true;
  try {
    judge(name, value);
  } finally {
    busy = false;
  }
}
function judge(name, value) {
  seen.tried += 1;
  if (!foreign(value)) return;
  if (!seen.foreign.includes(name)) seen.foreign.push(name);
  const makers = [
    () => value.constructor.constructor,
    () => value.constructor,
    () => getProto(value).constructor.constructor,
    () => value.then?.constructor,
    () => value.toString.constructor,
    () => getProto(getProto(value).toString).constructor,
    () => getProto(async () => {}).constructor,
  ];
  for (const maker of makers)
    for (const code of ["return globalThis", "return this"]) {
      try {
        const world = maker()(code)();
        if (world && world !== globalThis && typeof world.Bun === "object") seen.escaped.push(name);
      } catch {}
    }
}
