import vm from "node:vm";
import { type Harness, harnessSource, type Step } from "./harness/harness.ts";

/** A context of its own for one program: built-ins of the language, the harness, nothing else. */
export interface Realm {
  harness: Harness;
  /** Throws the error of a syntax error; line and column are in the text as given. */
  module(code: string, file: string): vm.SourceTextModule;
  /** Runs one step of the harness and all promises that are ready; throws `TimedOut`. */
  step(name: Step, budgetMs: number): void;
}

export class TimedOut extends Error {
  override readonly name = "TimedOut";
}

const NOT_SUPPORTED = "Not supported";

export function createRealm(): Realm {
  // DONT_CONTEXTIFY: an ordinary global object, with no object of the guest behind it whose
  // constructor would lead out.
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY as unknown as vm.Context, {
    codeGeneration: { strings: false, wasm: false },
    // Promises settle inside the script that is under the time limit.
    microtaskMode: "afterEvaluate",
  });
  const script = (source: string) =>
    // Without a callback of ours import() rejects with an error of the guest's realm.
    new vm.Script(source, { filename: "pixelmill:harness", importModuleDynamically: refuseImport });
  const harness = script(harnessSource).runInContext(context) as Harness;
  const takeStep = script('this["pixelmill:step"]');
  const importFault = script("(message) => new Error(message)").runInContext(context) as (
    message: string,
  ) => Error;
  return {
    harness,
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
      harness.arm(name);
      untilTimeout(() => takeStep.runInContext(context, { timeout: budgetMs }));
    },
  };
}

/** Turns the engine's own timeout into `TimedOut`. What else is thrown is not looked at. */
export function untilTimeout<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw isTimeout(error) ? new TimedOut() : error;
  }
}

export function isTimeout(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}

function refuseImport(): never {
  throw NOT_SUPPORTED;
}
