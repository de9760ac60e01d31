// biome-ignore-all lint: hostile on purpose
// expect: "foreign":\[\],"tried":\d{3},"escaped":\[\]
// with: foreign.js

// Call sites, callers and what errors carry.
Error.stackTraceLimit = 1000;
try {
  Error.prepareStackTrace = (e, sites) => {
    look("sites", sites);
    for (const s of sites) {
      look("site", s);
      for (const m of ["getThis", "getFunction", "getEvalOrigin", "getTypeName"])
        try {
          look(m, s[m]());
        } catch (e) {
          look("m", e);
        }
    }
    return sites;
  };
} catch (e) {
  look("prep", e);
}
Object.defineProperty(Object.prototype, "prepareStackTrace", {
  value: (e, s) => {
    look("p sites", s);
    return s;
  },
  configurable: true,
  writable: true,
});
function sloppyCaller() {
  const f = new Error("x");
  look("stack", f.stack);
  return f;
}
export async function transformEvent(event, metadata) {
  look("metadata fn", metadata);
  look("event", event);
  for (const f of [
    log,
    getCredential,
    metadata,
    fetch,
    fetchV2,
    geolocation,
    console.log,
    import.meta.x,
  ]) {
    for (const k of ["caller", "arguments", "callee", "prototype", "constructor", "name"])
      try {
        look(String(k), f?.[k]);
      } catch (e) {
        look("caller error", e);
      }
  }
  try {
    look(
      "callee",
      (function () {
        return arguments.callee.caller;
      })(),
    );
  } catch (e) {
    look("callee", e);
  }
  const errors = [
    () => null.x,
    () => undefined(),
    () => {
      x;
      let x;
    },
    () =>
      new (class {
        constructor() {
          this.x.y;
        }
      })(),
    () => [].reduce(() => 0),
    () => "x".repeat(-1),
    () => new Array(-1),
    () => (1).toFixed(1000),
    () => decodeURI("%"),
    () => JSON.parse("{"),
    () => new RegExp("["),
    () => BigInt("x"),
    () => 1n / 0n,
    () => Symbol() + "",
    () => new Proxy({}, null),
    () => Reflect.construct(1),
    () => Object.defineProperty(Object.freeze([]), "0", { value: 1 }),
    () => {
      "use strict";
      undefinedVariable = 1;
    },
    () => structuredClone({}),
    () => new Uint8Array(-1),
    () => new Intl.NumberFormat("xx-invalid-locale-zzzzzzzzzz"),
    () => "x".normalize("x"),
    () => Temporal.PlainDate.from("x"),
    () => new Date(NaN).toISOString(),
    () => eval("1"),
    () => new Function("1"),
    () => Function.prototype.constructor("1"),
    () => (async () => {}).constructor("1"),
    () => function* () {}.constructor("1"),
    () => async function* () {}.constructor("1"),
    () =>
      class extends null {
        constructor() {
          super();
        }
      },
    () => new (class extends null {})(),
    () => {
      class A {
        #x;
        static t(o) {
          return o.#x;
        }
      }
      A.t({});
    },
    () => import.meta.foo.bar,
    () => Array.fromAsync(1),
    () => Iterator.prototype.map.call(1),
    () => Promise.prototype.then.call(1),
    () => Promise.resolve.call(undefined),
    () => new Promise(),
    () => new WeakRef(1),
    () => new WeakMap([[1, 1]]),
    () => Object.setPrototypeOf(Object.preventExtensions({}), {}),
    () => {
      const g = (function* () {
        g.next();
      })();
      g.next();
    },
    () => [].at.call(null),
    () => "".matchAll(/x/),
    () => log(Symbol()),
    () =>
      log({
        toJSON() {
          null.x;
        },
      }),
    () => getCredential(),
    () => metadata(null),
    () =>
      metadata(
        new Proxy(
          {},
          {
            get() {
              null.x;
            },
          },
        ),
      ),
    () => metadata(Symbol()),
  ];
  for (const [i, one] of errors.entries()) {
    try {
      const v = one();
      if (v?.then)
        try {
          await v;
        } catch (e) {
          look("async error " + i, e);
        }
    } catch (e) {
      look("error " + i, e);
      look("stack " + i, e?.stack);
      for (const k of Reflect.ownKeys(Object(e))) look("key", e[k]);
    }
  }
  return seen;
}
