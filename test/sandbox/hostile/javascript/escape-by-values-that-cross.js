// biome-ignore-all lint: hostile on purpose
// expect: "foreign":\[\],"tried":\d+,"escaped":\[\]
// with: foreign.js

// Values that cross the border: outputs, thrown values, credentials, promises, namespaces.
const handler = new Proxy(
  {},
  {
    get(_, trap) {
      return (target, ...rest) => {
        for (const one of rest) look("trap " + trap, one);
        return Reflect[trap](target, ...rest);
      };
    },
  },
);
export class Thenable {
  then(a, b) {
    look("then", a);
    look("then", b);
    a({ ok: 1 });
  }
}
export function* gen() {
  yield 1;
}
export let nothing;
const self = await 1;
Object.defineProperty(Function.prototype, "then", {
  get() {
    look("fn then", this);
  },
  configurable: true,
});
Object.defineProperty(Object.prototype, "then", {
  get() {
    look("object then", this);
  },
  configurable: true,
});
Object.defineProperty(String.prototype, "then", {
  get() {
    look("string then", this);
  },
  configurable: true,
});
Object.defineProperty(Object.prototype, "toJSON", {
  value: function (...a) {
    for (const x of a) look("toJSON", x);
    look("toJSON this", this);
    return this.valueOf();
  },
  configurable: true,
  writable: true,
});
for (const name of ["map", "join", "slice", "splice", "concat", "sort", "forEach", "flat"]) {
  const old = Array.prototype[name];
  Object.defineProperty(Array.prototype, name, {
    value: function (...a) {
      look("array " + String(name), this);
      for (const x of a) look("array arg " + String(name), x);
      return Reflect.apply(old, this, a);
    },
    configurable: true,
    writable: true,
  });
}
for (const name of ["split", "replace", "charCodeAt", "indexOf", "startsWith"]) {
  const old = String.prototype[name];
  Object.defineProperty(String.prototype, name, {
    value: function (...a) {
      look("string " + String(name), this);
      for (const x of a) look("string arg", x);
      return Reflect.apply(old, this, a);
    },
    configurable: true,
    writable: true,
  });
}
for (const name of ["parse", "stringify"]) {
  const old = JSON[name];
  JSON[name] = function (...a) {
    for (const x of a) look("JSON", x);
    return Reflect.apply(old, this, a);
  };
}
for (const name of Reflect.ownKeys(Reflect)) {
  const old = Reflect[name];
  if (typeof old === "function")
    try {
      Reflect[name] = (...a) => {
        return old(...a);
      };
    } catch {}
}
export function transformEvent(event) {
  Promise.reject(new Proxy(new Error("x"), handler));
  Promise.reject(Object.setPrototypeOf(new Error("x"), new Proxy({}, handler)));
  return [new Proxy({ a: 1 }, handler), { then: undefined, toJSON: () => seen }];
}
