// biome-ignore-all lint: hostile on purpose
// expect: "foreign":\[\],"tried":\d{4},"escaped":\[\]
// with: foreign.js

// What import() does with odd specifiers and options, and what its errors are made of.
const odd = [
  undefined,
  null,
  0,
  1n,
  Symbol("x"),
  {},
  [],
  () => {},
  new Proxy({}, {}),
  {
    toString() {
      throw new Error("own");
    },
  },
  {
    [Symbol.toPrimitive]() {
      return "fs";
    },
  },
  "fs",
  "node:fs",
  "bun",
  "bun:ffi",
  "bun:main",
  "data:text/javascript,0",
  "file:///etc/passwd",
  "/etc/passwd",
  "./x",
  "",
  " ",
  "\0",
  "\ud800",
  "pixelmill:transformation",
  "pixelmill:library/0",
  "https://example.com/x.js",
  "blob:x",
  "#x",
  "node:vm",
  "node:module",
];
const options = [
  undefined,
  null,
  1,
  {},
  { with: {} },
  { with: { type: "json" } },
  { with: { type: "text" } },
  { with: { type: "file" } },
  { with: { type: "macro" } },
  { with: null },
  {
    get with() {
      throw new Error("own");
    },
  },
  new Proxy(
    {},
    {
      get: () => {
        throw 1;
      },
    },
  ),
  { with: new Proxy({ type: "json" }, {}) },
  { assert: { type: "json" } },
];
export async function transformEvent() {
  await Promise.all(
    odd.flatMap((one) =>
      options.map(async (option) => {
        try {
          const p = import(one, option);
          look("promise", p);
          look("value", await p);
        } catch (error) {
          look("error", error);
          look("stack", error?.stack);
          for (const key of Reflect.ownKeys(Object(error))) look("key " + String(key), error[key]);
        }
      }),
    ),
  );
  try {
    look("meta", import.meta);
    look("meta", import.meta.constructor);
    look("meta", getProto(import.meta));
    for (const k of Reflect.ownKeys(import.meta)) look("meta " + k, import.meta[k]);
    import.meta.x = 1;
    look("dir", import.meta.require);
    look("resolve", import.meta.resolve);
  } catch (error) {
    look("meta error", error);
  }
  return seen;
}
