import { isNativeError, isProxy } from "node:util/types";
import vm from "node:vm";
import { type RealmRunner, type RunnerStep, runnerSource } from "./runner/runner-source.ts";

/**
 * The JavaScript context of one program. It contains the language's built-ins and the runner, the
 * code that calls user functions.
 */
export interface Realm {
  runner: RealmRunner;
  /** Compiles a module. Throws a syntax error of the code with its line and column. */
  module(code: string, file: string): vm.SourceTextModule;
  /**
   * Runs one step of the runner, then all promises that are ready. Throws
   * - `ScriptTimeout` after `budgetMs`
   * - `OutOfMemoryError` if memory runs out
   * - `BrokenBuiltIns` if user code has replaced built-ins that the runner needs
   */
  step(name: RunnerStep, budgetMs: number): void;
}

export class ScriptTimeout extends Error {
  override readonly name = "TimedOut";
}

/**
 * Error of a program whose user code has replaced built-ins that the runner needs. It replaces the
 * error that the runner threw because of that.
 */
export class BrokenBuiltIns extends Error {
  override readonly name = "Broken";

  constructor() {
    super("Script broke the built-ins that it runs on");
  }
}

/**
 * Error of a guest process that ran out of memory. Code that ran earlier in this process may hold
 * the memory, so the process ends, and the server runs the code again in another guest process.
 */
export class OutOfMemoryError extends Error {
  override readonly name = "OutOfMemory";
}

const TIMEOUT_CODE = "ERR_SCRIPT_EXECUTION_TIMEOUT";
const NOT_SUPPORTED = "Not supported";

export function createRealm(): Realm {
  // DONT_CONTEXTIFY makes an ordinary global object. Without it, an object of the guest's main
  // realm stands behind the global object, and its constructor leads out of the new realm.
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY as unknown as vm.Context, {
    codeGeneration: { strings: false, wasm: false },
    // Promises settle inside the script that is under the time limit.
    microtaskMode: "afterEvaluate",
  });
  const script = (source: string) =>
    // Without a callback of ours, import() rejects with an error of the guest's own realm.
    new vm.Script(source, { filename: "pixelmill:runner", importModuleDynamically: refuseImport });
  const runner = script(runnerSource).runInContext(context) as RealmRunner;
  const takeStep = script('this["pixelmill:step"]');
  const importFault = script("(message) => new Error(message)").runInContext(context) as (
    message: string,
  ) => Error;
  return {
    runner,
    module: (code, file) =>
      new vm.SourceTextModule(`${code}\n//# sourceURL=${file}`, {
        context,
        identifier: file,
        importModuleDynamically() {
          // An error of the program's own realm, with the program's frames in its stack.
          throw importFault(NOT_SUPPORTED);
        },
      }),
    step(name, budgetMs) {
      runner.arm(name);
      try {
        takeStep.runInContext(context, { timeout: budgetMs });
      } catch (thrown) {
        if (isOutOfMemory(thrown)) throw new OutOfMemoryError();
        throw isTimeout(thrown) ? new ScriptTimeout() : new BrokenBuiltIns();
      }
    },
  };
}

/**
 * Whether `thrown` is the error with which the engine stops a script whose time is used up. User
 * code may have thrown the value, so the check runs no code of the value, such as a getter.
 */
export function isTimeout(thrown: unknown): boolean {
  if (!isNativeError(thrown)) return false;
  const kind: object = Object.getPrototypeOf(thrown);
  if (kind === null || isProxy(kind) || Object.getPrototypeOf(kind) !== Error.prototype)
    return false;
  return Reflect.getOwnPropertyDescriptor(kind, "code")?.value === TIMEOUT_CODE;
}

/**
 * Whether `thrown` is the error with which the engine reports that memory ran out. User code may
 * have thrown the value, so the check runs no code of the value, such as a getter.
 */
function isOutOfMemory(thrown: unknown): boolean {
  if (!isNativeError(thrown)) return false;
  return Reflect.getOwnPropertyDescriptor(thrown, "message")?.value === "Out of memory";
}

function refuseImport(): never {
  throw NOT_SUPPORTED;
}
