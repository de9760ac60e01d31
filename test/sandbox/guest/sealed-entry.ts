/**
 * Seals its realm as a guest does, prints which of its built-ins are still worth something, and
 * then throws what its argument names.
 */
import { writeSync } from "node:fs";
import { sealRealm } from "../../../src/sandbox/guest/confinement/seal-realm.ts";

const thrown = process.argv.at(-1);
const { create, entries, getOwnPropertyDescriptor, getPrototypeOf, isFrozen } = Object;
sealRealm();

const realm = globalThis as unknown as Record<string, any>;

/** What a call throws: the error's code or name. */
function refusal(call: () => unknown): string {
  try {
    call();
    return "nothing";
  } catch (error) {
    const { code, name } = error as { code?: string; name: string };
    return code ?? name;
  }
}

const functions = {
  plain: () => {},
  async: async () => {},
  generator: function* () {},
  asyncGenerator: async function* () {},
};

const iterators = {
  array: [1].values(),
  text: "a"[Symbol.iterator](),
  matches: "a".matchAll(/a/g),
  map: new Map().keys(),
  set: new Set().keys(),
  helper: [1].values().map((one) => one),
  wrapped: Iterator.from({ next: () => ({ done: true, value: 1 }) }),
};

const constructors = `
  Object Array Iterator String Boolean Number BigInt Symbol RegExp Date Promise Error TypeError
  AggregateError Map Set WeakMap WeakSet WeakRef FinalizationRegistry ArrayBuffer DataView
  Uint8Array Float64Array BigUint64Array Buffer
`;
const namesIn = (list: string) => list.trim().split(/\s+/);
const unfrozen = (of: Record<string, unknown>) => {
  return entries(of).flatMap(([name, it]) => (isFrozen(it) ? [] : [name]));
};
const prototypes = (of: Record<string, object>) => {
  return Object.fromEntries(entries(of).map(([name, it]) => [name, getPrototypeOf(it)]));
};

const report = {
  unfrozen: [
    ...unfrozen(prototypes({ ...functions, ...iterators })),
    ...unfrozen({
      ...{ json: JSON, math: Math, reflect: Reflect, typedArray: getPrototypeOf(Uint8Array) },
      typedArrayPrototype: getPrototypeOf(Uint8Array.prototype),
      generated: getPrototypeOf(functions.generator).prototype,
      asyncGenerated: getPrototypeOf(functions.asyncGenerator).prototype,
      asyncIterator: getPrototypeOf(getPrototypeOf(functions.asyncGenerator).prototype),
    }),
    ...namesIn(constructors).filter((name) => {
      return !(isFrozen(realm[name]) && isFrozen(realm[name].prototype));
    }),
  ],
  // Only `Object` is left as the constructor that functions inherit.
  constructors: Object.values(functions).filter((it) => it.constructor !== Object).length,
  compiles: refusal(() => realm.Function("return 1")),
  isFunction: functions.plain instanceof Function,
  stackHook: getOwnPropertyDescriptor(Error, "prepareStackTrace")?.value ?? null,
  process: {
    names: Object.keys(process).toSorted(),
    env: entries(process.env).length,
    argv: process.argv,
    cwd: process.cwd(),
  },
  powersOfBun: namesIn("FFI spawn file write listen connect inspect").map((name) => {
    return refusal(() => (Bun as unknown as Record<string, () => void>)[name]!());
  }),
  powers: namesIn("eval Worker fetch WebSocket console require Intl").filter((name) => {
    return realm[name] !== undefined;
  }),
  replaced: ["Function", "process", "fetch"].filter((name) => {
    return Reflect.set(realm, name, 1) || Reflect.defineProperty(realm, name, { value: 1 });
  }),
};
writeSync(1, JSON.stringify(report));

const tells = { get: () => writeSync(1, "code of the value ran") };
if (thrown === "value") throw create(null, { stack: tells, message: tells, toString: tells });
const error = new Error("a defect");
throw thrown === "error" ? error : Object.defineProperty(error, "stack", tells);
