import { expect, test } from "bun:test";
import vm from "node:vm";
import { isTimeout } from "../../../src/sandbox/guest/javascript/realm.ts";
import { startGuest } from "../../../src/sandbox/guest/start-guest.ts";

const CODE = "ERR_SCRIPT_EXECUTION_TIMEOUT";
const withPrototype = (prototype: object | null) =>
  Object.setPrototypeOf(new Error("x"), prototype);
const kindOf = (code: PropertyDescriptor, parent: object = Error.prototype) =>
  Object.create(parent, { code });
const thrownBy = (code: string, options: vm.RunningScriptOptions = {}) => {
  try {
    return vm.runInNewContext(code, {}, options);
  } catch (error) {
    return error;
  }
};
/** Runs code of the thrown value. */
const trap = () => {
  throw new Error("Expected no code of a thrown value to run");
};

test.each<[what: string, thrown: unknown, expected: boolean]>([
  ["the engine's own error", thrownBy("for (;;);", { timeout: 5 }), true],
  ["an error of its kind", withPrototype(kindOf({ value: CODE })), true],
  ["an error of another code", withPrototype(kindOf({ value: "ERR_OTHER" })), false],
  ["an error of a context that is thrown there", thrownBy("throw new Error('x')"), false],
  ["an error with its code", Object.assign(new Error("x"), { code: CODE }), false],
  ["an error of a kind that is none of errors", withPrototype(kindOf({ value: CODE }, {})), false],
  ["an error without a kind", withPrototype(null), false],
  ["an error whose kind is a proxy", withPrototype(new Proxy({}, { getPrototypeOf: trap })), false],
  ["an error whose code is a getter", withPrototype(kindOf({ get: trap })), false],
  ["an object with its code", { code: CODE }, false],
  ["a proxy of an error", new Proxy(new Error("x"), { getPrototypeOf: trap }), false],
  ["nothing", undefined, false],
])("of what code throws, the end of its time is known: %s", (_, thrown, expected) => {
  expect(isTimeout(thrown)).toBe(expected);
});

test.each([undefined, "", "ruby"])("there is no guest of the language %p", async (language) => {
  await expect(startGuest(language)).rejects.toThrow(
    "Expected a guest language: javascript or python",
  );
});
