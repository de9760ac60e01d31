// biome-ignore-all lint: hostile on purpose
// expect: "foreign":\[\],"tried":\d{2,},"escaped":\[\]
// with: foreign.js

// Late callbacks: weak references, timers that are not there, promises that settle in a later run, async generators.
const names = Object.getOwnPropertyNames(globalThis);
for (const name of [
  "setTimeout",
  "setInterval",
  "queueMicrotask",
  "structuredClone",
  "Worker",
  "MessageChannel",
  "FinalizationRegistry",
  "Atomics",
  "SharedArrayBuffer",
  "WebAssembly",
  "ShadowRealm",
  "process",
  "Bun",
  "require",
  "module",
  "exports",
  "Buffer",
  "performance",
  "crypto",
  "navigator",
  "reportError",
  "Loader",
  "$vm",
  "gc",
  "print",
  "alert",
  "prompt",
])
  if (names.includes(name)) seen.foreign.push("global " + name);
const ref = new WeakRef({});
async function* forever() {
  try {
    for (let i = 0; ; i += 1) yield i;
  } finally {
    look("finally", this);
    await import("x").catch((e) => look("late import", e));
  }
}
const g = forever();
let resolveLate;
const late = new Promise((r) => {
  resolveLate = r;
});
late.then((v) => look("late", v));
export async function transformEvent(event) {
  for await (const x of g) {
    look("for await", x);
    if (x > 3) break;
  }
  try {
    await using d = {
      async [Symbol.asyncDispose]() {
        look("dispose", this);
        throw new Error("d");
      },
    };
    throw new Error("body");
  } catch (e) {
    look("suppressed", e);
    look("suppressed", e.error);
    look("suppressed", e.suppressed);
  }
  const { promise, resolve } = Promise.withResolvers();
  look("withResolvers", resolve);
  resolve({
    then(a, b) {
      look("then a", a);
      look("then b", b);
      a(1);
    },
  });
  await promise;
  for (const name of ["all", "allSettled", "any", "race"])
    try {
      look(
        name,
        await Promise[name]([
          {
            then(a, b) {
              look(name, a);
              look(name, b);
              a(1);
            },
          },
          import("x"),
        ]),
      );
    } catch (e) {
      look(name, e);
      for (const x of e.errors ?? []) look(name, x);
    }
  try {
    look("try", await Promise.try?.(() => import("x")));
  } catch (e) {
    look("try", e);
  }
  look(
    "fromAsync",
    await Array.fromAsync(
      (async function* () {
        yield {
          then(a) {
            look("fa", a);
            a(1);
          },
        };
      })(),
    ),
  );
  resolveLate(import("x").catch((e) => e));
  return seen;
}
