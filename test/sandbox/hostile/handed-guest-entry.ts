/**
 * The product's guest, but for a realm that leaks on purpose: programs find objects of the
 * guest's own realm in `outer`, and its global object. Sealed, they must be worth nothing.
 */
import vm from "node:vm";
import { startGuest } from "../../../src/sandbox/guest/start-guest.ts";

const { createContext } = vm;
vm.createContext = (...given: Parameters<typeof createContext>) => {
  const context = createContext(...given);
  const generator = function* () {};
  const asyncGenerator = async function* () {};
  const outer = {
    globals: globalThis,

    ...{
      strict: () => {},
      async: async () => {},
      generator,
      asyncGenerator,
      bound: (() => {}).bind(1),
    },
    ...{ kind: class {}, error: new RangeError("x"), promise: Promise.resolve(1), object: {} },
    ...{
      list: [1],
      map: new Map(),
      set: new Set(),
      keys: new Map().keys(),
      symbol: Object(Symbol()),
    },
    ...{ date: new Date(), pattern: /x/g, matches: "x".matchAll(/x/g), weak: new WeakRef({}) },
    ...{ bytes: new Uint8Array(1), view: new DataView(new ArrayBuffer(1)), text: Object("x") },
    ...{ letters: "x"[Symbol.iterator](), mapped: [1].values().map((one) => one) },
    ...{ wrapped: Iterator.from({ next: () => ({ done: true, value: 1 }) }) },
    ...{ buffer: Buffer.from("x"), number: Object(1), big: Object(1n), values: [1].values() },
  };
  Object.defineProperty(context, "outer", { value: outer });
  return context;
};

await startGuest(process.argv[3]);
