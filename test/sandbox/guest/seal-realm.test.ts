import { expect, test } from "bun:test";
import { join } from "node:path";

const entry = join(import.meta.dir, "sealed-entry.ts");

/** Runs a process that seals its realm, reports what is left in it, and ends with an error. */
function sealed(thrown: "error" | "value" | "getter") {
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, entry, thrown], {
    env: {},
  });
  return { report: stdout.toString(), errors: stderr.toString(), exitCode };
}

test("a sealed realm has no power, and nothing in it can be changed; its error ends it with the stack", () => {
  const { report, errors, exitCode } = sealed("error");
  expect(JSON.parse(report)).toEqual({
    unfrozen: [],
    constructors: 0,
    compiles: "EvalError",
    isFunction: true,
    stackHook: null,
    process: {
      names: ["arch", "argv", "cwd", "env", "nextTick", "platform", "version"],
      env: 0,
      argv: [],
      cwd: "/",
    },
    powersOfBun: Array(7).fill("EPERM"),
    powers: [],
    replaced: [],
  });
  expect(errors).toMatch(/^Error: a defect\n +at .*sealed-entry\.ts/);
  expect(exitCode).toBe(1);
});

test.each([
  ["value", "A value was thrown that is no error\n"],
  ["getter", "undefined\n"],
] as const)("no code of a thrown %s runs when a sealed process ends", (thrown, expected) => {
  const { report, errors, exitCode } = sealed(thrown);
  expect(report).toEndWith("}");
  expect([errors, exitCode]).toEqual([expected, 1]);
});
