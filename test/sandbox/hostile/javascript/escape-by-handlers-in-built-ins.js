// biome-ignore-all lint: hostile on purpose
// expect: "foreign":\[\],"tried":\d{2,},"escaped":\[\]
// with: foreign.js

// Functions that built-ins hand to what user code puts in their way: then, catch, species, toJSON.
const take = (name) =>
  function (...values) {
    look(name + " this", this);
    for (const value of values) look(name, value);
  };
const p = Promise.prototype;
const realThen = p.then;
p.then = function (a, b) {
  look("then", a);
  look("then", b);
  look("then this", this);
  return Reflect.apply(realThen, this, [a, b]);
};
p.catch = function (a) {
  look("catch", a);
  return Reflect.apply(realThen, this, [undefined, a]);
};
p.finally = function (a) {
  look("finally", a);
  return Reflect.apply(realThen, this, [a, a]);
};
Object.defineProperty(p, "constructor", {
  get() {
    look("constructor this", this);
    return Promise;
  },
  configurable: true,
});
Object.defineProperty(Promise, Symbol.species, {
  get() {
    look("species this", this);
    return function (executor) {
      look("executor", executor);
      return new Promise(executor);
    };
  },
  configurable: true,
});
for (const key of [
  "then",
  "catch",
  "toJSON",
  "code",
  "name",
  "stack",
  "message",
  "inspect",
  "toString",
  "valueOf",
  Symbol.toPrimitive,
  Symbol.toStringTag,
  Symbol.for("nodejs.util.inspect.custom"),
  Symbol.for("nodejs.util.promisify.custom"),
  Symbol.iterator,
  Symbol.asyncIterator,
  "length",
  "constructor",
  "cause",
  "errors",
  "line",
  "column",
  "sourceURL",
  "kind",
  "header",
  "body",
  "type",
  "default",
  "transform",
  "reply",
  "number",
])
  if (!(key in Object.prototype) || true) {
    try {
      const old = Object.prototype[key];
      Object.defineProperty(Object.prototype, key, {
        get() {
          look("getter " + String(key), this);
          return key === "then" ? undefined : old;
        },
        set(v) {
          look("setter " + String(key), v);
          Object.defineProperty(this, key, {
            value: v,
            writable: true,
            configurable: true,
            enumerable: true,
          });
        },
        configurable: true,
      });
    } catch {}
  }
Object.defineProperty(Object.prototype, Symbol.hasInstance, {
  get() {
    look("hasInstance", this);
  },
  configurable: true,
});
await import("x").then(
  () => {},
  (e) => look("import", e),
);
await 1;
Promise.reject(new Error("unhandled"));
Promise.reject(
  new Proxy(
    new Error("unhandled"),
    new Proxy(
      {},
      {
        get(_, trap) {
          return (...all) => {
            for (const one of all) look("trap " + trap, one);
            return Reflect[trap](...all);
          };
        },
      },
    ),
  ),
);
Promise.reject({
  [Symbol.for("nodejs.util.inspect.custom")]: take("inspect"),
  toString: take("toString"),
  get stack() {
    look("stack", this);
    return 1;
  },
});
class E extends Error {
  [Symbol.for("nodejs.util.inspect.custom")](...all) {
    for (const one of all) look("inspect", one);
    return "";
  }
  get name() {
    look("name", this);
    return "E";
  }
}
Promise.reject(new E("x"));
export async function transformEvent(event) {
  Promise.reject(new Proxy(new E("x"), {}));
  for (let i = 0; i < 8; i++) await import("x").catch((e) => look("import", e));
  await fetch("http://answers").catch(() => 0);
  try {
    await fetchV2("http://answers");
  } catch (e) {
    look("fetchV2", e);
  }
  try {
    await geolocation("1.2.3.4");
  } catch (e) {
    look("geo", e);
  }
  delete Object.prototype.toJSON;
  delete Object.prototype.then;
  return JSON.parse(JSON.stringify(seen));
}
