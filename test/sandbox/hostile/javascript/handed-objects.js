// biome-ignore-all lint: hostile on purpose
// expect: "made":\[\],"changed":\[\],"looked":28,"open":\[\],"walked":\d{3}
// Everything of the guest's own realm, handed in on purpose: nothing of it makes code, or changes it.
const code = "return globalThis";
const made = [];
const changed = [];
const proto = Object.getPrototypeOf;

function attempt(list, name, act) {
  try {
    if (act()) list.push(name);
  } catch {}
}

// Every object that leads from the given ones, over properties and prototypes.
function walk(roots, globals) {
  const seen = new Set([globals, globals.Bun]);
  const open = [];
  const queue = Object.entries(roots).map(([name, value]) => [name, value, false]);
  for (const [name, value, shared] of queue) {
    if (Object(value) !== value || seen.has(value)) continue;
    seen.add(value);
    if (shared && !Object.isFrozen(value)) open.push(name);
    queue.push([`${name}.__proto__`, proto(value), true]);
    for (const key of Reflect.ownKeys(value)) {
      const { value: next, get, set } = Reflect.getOwnPropertyDescriptor(value, key);
      const isShared =
        (key === "prototype" && shared) || (typeof next === "function" && "prototype" in next);
      for (const one of [next, get, set]) queue.push([`${name}.${String(key)}`, one, isShared]);
    }
  }
  return { open, walked: seen.size };
}

export async function transformEvent() {
  const { globals, ...values } = outer;
  let looked = 0;
  for (const [name, value] of Object.entries(values)) {
    looked += 1;
    for (let one = value, step = 0; one !== null && step < 6; one = proto(one), step += 1) {
      const makers = [
        one.constructor,
        one.constructor?.constructor,
        proto(one.constructor ?? one)?.constructor,
      ];
      for (const method of Reflect.ownKeys(one)) {
        try {
          makers.push(one[method].constructor, proto(one[method]).constructor);
        } catch {}
      }
      for (const maker of makers) {
        attempt(made, name, () => maker(code)().Array);
        attempt(made, name, () => new maker(code)().Array);
        attempt(made, name, () => Reflect.construct(maker, [code], one.constructor)().Array);
        attempt(made, name, () => Reflect.apply(maker, undefined, [code])().Array);
      }
      attempt(
        changed,
        `${name} ${step}`,
        () => Reflect.defineProperty(one, "marked", { value: 1 }) && step > 0,
      );
      attempt(changed, `${name} ${step} proto`, () => step > 0 && Reflect.setPrototypeOf(one, {}));
      if (step > 0)
        for (const key of Reflect.ownKeys(one))
          attempt(
            changed,
            `${name} ${step} ${String(key)}`,
            () => Reflect.defineProperty(one, key, { value: code }) && one[key] === code,
          );
    }
  }
  // Frames of the guest below this one.
  let sites;
  attempt(changed, "prepareStackTrace", () => {
    proto(values.error).constructor.prepareStackTrace = (_, list) => {
      sites = list;
    };
    String(values.error.stack);
    values.error.constructor.captureStackTrace({});
    return sites;
  });
  const names = [
    "Intl",
    "Temporal",
    "Atomics",
    "SharedArrayBuffer",
    "Proxy",
    "Math",
    "JSON",
    "Reflect",
  ];
  const all = { ...values, ...Object.fromEntries(names.map((name) => [name, globals[name]])) };
  return { made, changed, looked, ...walk(all, globals) };
}
