// biome-ignore-all lint: hostile on purpose
// expect: "tried":\d{4},"escaped":\[\]
// with: foreign.js

const acts = {
  log: () => log("x", {}),
  credential: () => getCredential("x"),
  fetch: () => fetch("x"),
  fetchV2: () => fetchV2("x"),
  geo: () => geolocation("1.1.1.1"),
  import: () => import("x"),
  stack: () => new Error("x").stack,
  json: () =>
    JSON.stringify({
      a: [
        1,
        {
          toJSON() {
            return 1;
          },
        },
      ],
    }),
  parse: () => JSON.parse('{"a":[[[1]]]}', (k, v) => v),
  then: () => Promise.resolve(1).then(() => 1),
  async: async () => {
    await 1;
  },
  gen: () => [
    ...(function* () {
      yield* [1, 2];
    })(),
  ],
  agen: () =>
    (async function* () {
      yield 1;
    })().next(),
  proxy: () => Reflect.ownKeys(new Proxy({}, { ownKeys: () => ["a"] })),
  sort: () => [3, 1, 2].sort((a, b) => a - b),
  replace: () => "aaa".replace(/a/g, (x) => x + x),
  regexp: () => /(a+)+b/.exec("aaaa"),
  intl: () => new Intl.DateTimeFormat("en").format(new Date()),
  temporal: () => Temporal.Now.instant(),
  locale: () => (1234.5).toLocaleString(),
  date: () => new Date().toLocaleString(),
  big: () => (2n ** 64n).toString(),
  arrayFrom: () => Array.from({ length: 3 }, (_, i) => i),
  fromAsync: () => Array.fromAsync([Promise.resolve(1)]),
  construct: () => Reflect.construct(class extends Array {}, [1, 2]),
  weak: () => new WeakRef({}).deref(),
  eval: () => (0, eval)("1"),
  fn: () => Function("return 1"),
  symbol: () => Symbol("x").description,
  tag: () => String.raw`x${1}`,
  capture: () => {
    const o = {};
    Error.captureStackTrace?.(o);
    return o.stack;
  },
  any: () => Promise.any([Promise.reject(1)]),
  all: () => Promise.all([1]),
  cause: () => new AggregateError([1], "x", { cause: 1 }),
  suppressed: () => new SuppressedError(1, 2),
  disposable: () => {
    const s = new DisposableStack();
    s.defer(() => {
      throw 1;
    });
    s.dispose();
  },
  iter: () =>
    Iterator.from([1])
      .map((x) => x)
      .toArray(),
  buffer: () => new ArrayBuffer(8, { maxByteLength: 16 }).resize(16),
  url: () => encodeURIComponent("\ud800"),
  console: () => console.log("x"),
  step: () => globalThis["pixelmill:step"],
  meta: () => import.meta,
  throwTo: () => {
    const g = (function* () {
      yield 1;
    })();
    g.next();
    g.throw(new Error("x"));
  },
};
export async function transformEvent(event, metadata) {
  acts.metadata = () => metadata({ messageId: "x" });
  const settling = [];
  // Every act at each of the last levels before the end of the stack, on the way back from it.
  for (const name of Object.keys(acts)) {
    let levels = 40;
    const down = () => {
      try {
        down();
      } catch (error) {
        look(`${name} overflow`, error);
      }
      if ((levels -= 1) < 0) return;
      try {
        const result = acts[name]();
        look(name, result);
        if (typeof result?.then === "function") settling.push([name, result]);
      } catch (error) {
        look(`${name} threw`, error);
      }
    };
    try {
      down();
    } catch (error) {
      look(`${name} end`, error);
    }
  }
  await Promise.all(
    settling.map(([name, result]) =>
      result.then(
        (value) => look(`${name} settled`, value),
        (error) => look(`${name} rejected`, error),
      ),
    ),
  );
  return seen;
}
