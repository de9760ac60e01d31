import { expect, test } from "bun:test";
import {
  BrokenBuiltIns,
  createRealm,
  OutOfMemoryError,
} from "../../src/sandbox/guest/javascript/realm.ts";
import { batch, program, testSandbox } from "./support.ts";

/** Result of a step through which code throws the value of an expression. */
async function thrownBy(expression: string): Promise<unknown> {
  const realm = createRealm();
  const code = `
    Object.defineProperty(Object.prototype, "messageId", { get: () => { throw ${expression}; } });
    export const transformEvent = (event) => event;
  `;
  const module = realm.module(code, "pixelmill:transformation");
  await module.link(() => module);
  await module.evaluate();
  realm.runner.install(module.namespace);
  realm.runner.take("[{}]", "[{}]", 1, 0, 0);
  try {
    realm.step("run", 5_000);
  } catch (error) {
    return error;
  }
  return undefined;
}

test("a guest that the machine's lack of memory ends is not reported as a fault of its code", async () => {
  expect(await thrownBy('new RangeError("Out of memory")')).toBeInstanceOf(OutOfMemoryError);
});

test("a guest that has no memory left to load code ends, and does not report it as a fault of the code", async () => {
  // The getter is called when the answer to the question arrives, outside of the code's promises.
  const code = `
    const get = () => { throw new RangeError("Out of memory"); };
    Object.defineProperty(Object.prototype, "error", { get, configurable: true });
    await geolocation("1.1.1.1");
    export const transformEvent = (event) => event;
  `;
  const sandbox = testSandbox({ geolocation: () => ({}) });
  const { error } = await sandbox.check(program(code), batch({ n: 1 }));
  await sandbox.close();
  expect(error?.message).toBe("Script crashed its guest, most likely at its memory limit");
});

test.each([
  ['new RangeError("Something else")'],
  ['new Proxy(new RangeError("Out of memory"), {})'],
  ["({ get message() { for (;;); } })"],
  ["null"],
])("%s, thrown through the runner, is the program's doing", async (expression) => {
  expect(await thrownBy(expression)).toBeInstanceOf(BrokenBuiltIns);
});
