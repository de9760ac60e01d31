import type vm from "node:vm";
import { GUEST_IMPORTS_MAX } from "../../../settings/limits.ts";
import type { UserError } from "../../program.ts";
import type { LibraryRequest, LoadRequest } from "../../protocol/guest-protocol.ts";
import {
  missingModuleMessage,
  rudderstackLibraries,
} from "../../rudderstack-libraries/rudderstack-libraries.ts";
import { settlePromises } from "./event-loop.ts";
import { createRealm, isTimeout, OutOfMemoryError, type Realm, ScriptTimeout } from "./realm.ts";
import { TimeBudget } from "./time-budget.ts";
import {
  cut,
  filesOf,
  libraryFile,
  libraryOf,
  loadError,
  MAIN_FILE,
  type ProgramFiles,
  type SourceFile,
  syntaxError,
} from "./user-errors.ts";

export const TIMED_OUT = "Script execution timed out.";
export const NEVER_SETTLED = "Timed out";

export interface LoadedProgram {
  source: LoadRequest;
  files: ProgramFiles;
  /**
   * Context in which the program runs; undefined after a timeout, until the program is compiled
   * again.
   */
  realm: Realm | undefined;
}

/**
 * Error that says that user code cannot be loaded. `userError` contains the reason and its position
 * in the code.
 */
export class LoadError extends Error {
  override readonly name = "LoadFailure";

  readonly userError: UserError;
  /** CPU time in ms that the code used; set only if it ran out of wall-clock time. */
  readonly usedMs: number | undefined;

  constructor(userError: UserError, usedMs?: number) {
    const message = cut(userError.message);
    super(message);
    this.userError = { ...userError, message };
    this.usedMs = usedMs;
  }
}

/** Compiles, links and evaluates code in a new context. Throws `LoadError` if the code fails. */
export async function compile(given: LoadRequest): Promise<LoadedProgram> {
  const source = { ...given, libraries: [...given.libraries, ...rudderstackLibraries] };
  const files = filesOf(source.name, source.code, source.libraries);
  const realm = createRealm();
  realm.runner.setCredentials(JSON.stringify(source.credentials));
  const main = parse(realm, MAIN_FILE, files.get(MAIN_FILE)!);
  const libraries = new Map<string, vm.SourceTextModule>();
  for (const specifier of main.dependencySpecifiers) {
    const index = source.libraries.findIndex((one) => one.importName === specifier);
    if (index < 0) throw missingModule(specifier);
    if (libraries.has(specifier)) continue;
    const name = libraryFile(index);
    const library = parse(realm, name, files.get(name)!);
    refuseImports(library);
    libraries.set(specifier, library);
  }
  await link(main, libraries, files);
  await evaluate(realm, main, source.budgetMs, files);
  const found = realm.runner.install(main.namespace);
  if (found !== "transformEvent" && found !== "transformBatch") {
    const message = `Error: Expected one of transformEvent,transformBatch. Found ${found}`;
    throw new LoadError({ message });
  }
  return { source: given, files, realm };
}

/**
 * Compiles and evaluates a library without a transformation. Throws `LoadError` if that fails. The
 * error's message does not begin with the name of the original error (such as `TypeError: `).
 */
export async function loadLibrary(request: LibraryRequest): Promise<void> {
  try {
    const realm = createRealm();
    const name = libraryFile(0);
    const file = libraryOf(request.importName, request.code);
    const module = parse(realm, name, file);
    refuseImports(module);
    const files = new Map([[name, file]]);
    await link(module, new Map(), files);
    await evaluate(realm, module, request.budgetMs, files);
  } catch (error) {
    if (!(error instanceof LoadError)) throw error;
    const { userError, usedMs } = error;
    const message = userError.message.replace(/^[A-Za-z]*Error: /, "");
    throw new LoadError({ ...userError, message }, usedMs);
  }
}

/**
 * Returns the names of the modules that `code` imports, in the order in which they first appear.
 * Throws `LoadError` if the code does not parse or imports too many modules.
 */
export function dependenciesOf(code: string): string[] {
  const module = parse(createRealm(), MAIN_FILE, { label: "code", code });
  const names = [...new Set(module.dependencySpecifiers)];
  if (names.length <= GUEST_IMPORTS_MAX) return names.map(cut);
  const message = `Expected at most ${GUEST_IMPORTS_MAX} imports, got ${names.length}`;
  throw new LoadError({ message });
}

function parse(realm: Realm, name: string, file: SourceFile): vm.SourceTextModule {
  try {
    return realm.module(file.code, name);
  } catch (error) {
    const { message, stack = "" } = error as Error;
    const line = Number(/ \(:(\d+)\)/.exec(stack)?.[1] ?? 1);
    const column = columnOfSyntaxError(file.code, line);
    throw new LoadError(syntaxError(message, file, line, column));
  }
}

function refuseImports(library: vm.SourceTextModule): void {
  const [specifier] = library.dependencySpecifiers;
  if (specifier !== undefined) throw missingModule(specifier);
}

function missingModule(specifier: string): LoadError {
  return new LoadError({ message: missingModuleMessage(specifier) });
}

async function link(
  module: vm.SourceTextModule,
  libraries: Map<string, vm.SourceTextModule>,
  files: ProgramFiles,
): Promise<void> {
  try {
    for (const library of libraries.values()) await library.link(() => library);
    await module.link((specifier) => libraries.get(specifier)!);
  } catch (error) {
    throw new LoadError({ message: linkMessage((error as Error).message, files) });
  }
}

/**
 * Translates an error message of JavaScriptCore about imports, such as `Export named 'y' not found
 * in module 'pixelmill:library/0'.`, into V8's message for the same error.
 */
function linkMessage(message: string, files: ProgramFiles): string {
  const match = /named '(.*)' not found in module '(.*)'/.exec(message);
  if (!match) return `SyntaxError: ${message}`;
  const [, name, module = ""] = match;
  const library = files.get(module)?.library;
  return `SyntaxError: The requested module '${library}' does not provide an export named '${name}'`;
}

async function evaluate(
  realm: Realm,
  module: vm.SourceTextModule,
  budgetMs: number,
  files: ProgramFiles,
): Promise<void> {
  const budget = new TimeBudget(budgetMs);
  let evaluation: Promise<unknown>;
  try {
    evaluation = budget.spend((timeout) => module.evaluate({ timeout }));
  } catch (thrown) {
    throw describe(thrown);
  }
  // `Bun.peek` reads the promise's state without `then` and `catch`, which user code may replace.
  const status = () => Bun.peek.status(evaluation);
  try {
    await settlePromises(realm, budget, () => status() !== "pending");
  } catch (error) {
    if (error instanceof OutOfMemoryError) throw error;
    if (error instanceof ScriptTimeout) throw timedOut();
    throw new LoadError({ message: (error as Error).message });
  }
  if (status() === "pending") throw new LoadError({ message: NEVER_SETTLED });
  if (status() === "rejected") throw describe(Bun.peek(evaluation));

  function timedOut(): LoadError {
    return new LoadError({ message: TIMED_OUT }, budget.usedCpuMs);
  }

  /**
   * Converts a thrown value to the `LoadError` for the code that has thrown it. The value is read
   * only inside the program's context and within the time limit, because its getters may run user
   * code.
   */
  function describe(thrown: unknown): LoadError {
    if (isTimeout(thrown)) return timedOut();
    realm.runner.hold(thrown);
    try {
      budget.step(realm, "describe");
    } catch (error) {
      return error instanceof ScriptTimeout ? timedOut() : new LoadError({ message: TIMED_OUT });
    }
    const [message, stack] = JSON.parse(realm.runner.description()) as [string, string];
    return new LoadError(loadError(message, stack, files));
  }
}

/**
 * Returns the column (1-based) of the first syntax error of `code`, for which JavaScriptCore
 * reports only the line. Returns 1 if Bun's transpiler, which finds the column, finds no error in
 * `line`.
 */
export function columnOfSyntaxError(code: string, line: number): number {
  try {
    new Bun.Transpiler({ loader: "js" }).scan(code);
  } catch (error) {
    const first = (error as AggregateError).errors?.[0] ?? error;
    const position = (first as { position?: { line: number; column: number } }).position;
    if (position?.line === line) return position.column;
  }
  return 1;
}
