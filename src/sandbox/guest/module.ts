import type vm from "node:vm";
import type { UserError } from "../program.ts";
import type { LibraryRequest, LoadRequest } from "../protocol.ts";
import { type Labels, libraryFile, loadError, MAIN_FILE, syntaxError } from "./errors.ts";
import { createRealm, isTimeout, type Realm } from "./realm.ts";
import { columnOfSyntaxError } from "./syntax.ts";

/** Settling of promises that user code awaits at its top level: turns of both event queues. */
const SETTLE_TURNS_MAX = 20;

export const TIMED_OUT = "Script execution timed out.";
export const NEVER_SETTLED = "Timed out";

export interface LoadedProgram {
  source: LoadRequest;
  labels: Labels;
  /** Absent after a timeout. */
  realm: Realm | undefined;
}

/** Code that does not load, and why, in the user's coordinates. */
export class LoadFailure extends Error {
  override readonly name = "LoadFailure";

  constructor(readonly fault: UserError) {
    super(fault.message);
  }
}

/** Compiles, links and evaluates a program in a realm of its own. Throws `LoadFailure`. */
export async function compile(source: LoadRequest): Promise<LoadedProgram> {
  const labels = { name: source.name, libraries: source.libraries.map((one) => one.importName) };
  const realm = createRealm();
  const main = parse(realm, source.code, MAIN_FILE, labels);
  const libraries = new Map<string, vm.SourceTextModule>();
  for (const specifier of main.dependencySpecifiers) {
    const index = labels.libraries.indexOf(specifier);
    if (index < 0) throw missingModule(specifier);
    if (libraries.has(specifier)) continue;
    const library = parse(realm, source.libraries[index]!.code, libraryFile(index), labels);
    refuseImports(library);
    libraries.set(specifier, library);
  }
  await link(main, libraries, labels);
  await evaluate(realm, main, source.budgetMs, labels);
  const found = realm.harness.install(main.namespace, JSON.stringify(source.credentials));
  if (found !== "transformEvent" && found !== "transformBatch") {
    const message = `Error: Expected one of transformEvent,transformBatch. Found ${found}`;
    throw new LoadFailure({ message });
  }
  return { source, labels, realm };
}

/** Compiles and evaluates a library alone. Its error is told without `Error: ` in front. */
export async function loadLibrary(request: LibraryRequest): Promise<void> {
  try {
    await loadAlone(request);
  } catch (error) {
    if (!(error instanceof LoadFailure)) throw error;
    const { fault } = error;
    throw new LoadFailure({ ...fault, message: fault.message.replace(/^[A-Za-z]*Error: /, "") });
  }
}

async function loadAlone(request: LibraryRequest): Promise<void> {
  const labels = { name: request.importName, libraries: [request.importName] };
  const realm = createRealm();
  const module = parse(realm, request.code, libraryFile(0), labels);
  refuseImports(module);
  await link(module, new Map(), labels);
  await evaluate(realm, module, request.budgetMs, labels);
}

/** Module names that code imports, in code order. Throws `LoadFailure` when it does not parse. */
export function dependenciesOf(code: string): string[] {
  const labels = { name: "code", libraries: [] };
  return [...parse(createRealm(), code, MAIN_FILE, labels).dependencySpecifiers];
}

function parse(realm: Realm, code: string, file: string, labels: Labels): vm.SourceTextModule {
  try {
    return realm.module(code, file);
  } catch (error) {
    const { message, stack = "" } = error as Error;
    const line = Number(/ \(:(\d+)\)/.exec(stack)?.[1] ?? 1);
    const column = columnOfSyntaxError(code, line);
    const library = file === MAIN_FILE ? undefined : labels.libraries[Number(file.split("/")[1])];
    const place = library === undefined ? { line, column } : { line, column, library };
    throw new LoadFailure(syntaxError(message, place, labels));
  }
}

function refuseImports(library: vm.SourceTextModule): void {
  const [specifier] = library.dependencySpecifiers;
  if (specifier !== undefined) throw missingModule(specifier);
}

function missingModule(specifier: string): LoadFailure {
  return new LoadFailure({ message: `Error: import from ${specifier} failed. Module not found.` });
}

async function link(
  module: vm.SourceTextModule,
  libraries: Map<string, vm.SourceTextModule>,
  labels: Labels,
): Promise<void> {
  try {
    for (const library of libraries.values()) await library.link(() => library);
    await module.link((specifier) => libraries.get(specifier)!);
  } catch (error) {
    throw new LoadFailure({ message: linkMessage((error as Error).message, labels) });
  }
}

/** `Export named 'y' not found in module 'pixelmill:library/0'.`, in the words of the standard. */
function linkMessage(message: string, labels: Labels): string {
  const match = /named '(.*)' not found in module 'pixelmill:library\/(\d+)'/.exec(message);
  if (!match) return `SyntaxError: ${message}`;
  const [, name, index] = match;
  const library = labels.libraries[Number(index)];
  return `SyntaxError: The requested module '${library}' does not provide an export named '${name}'`;
}

async function evaluate(
  realm: Realm,
  module: vm.SourceTextModule,
  budgetMs: number,
  labels: Labels,
): Promise<void> {
  let settled = false;
  let thrown: { error: unknown } | undefined;
  const evaluated = (async () => {
    try {
      await module.evaluate({ timeout: budgetMs });
    } catch (error) {
      thrown = { error };
    }
    settled = true;
  })();
  for (let turn = 0; turn < SETTLE_TURNS_MAX && !settled; turn += 1) {
    await Promise.race([evaluated, new Promise((resolve) => setImmediate(resolve))]);
    if (!settled) drain(realm, budgetMs);
  }
  if (!settled) throw new LoadFailure({ message: NEVER_SETTLED });
  if (!thrown) return;
  if (isTimeout(thrown.error)) throw new LoadFailure({ message: TIMED_OUT });
  throw new LoadFailure(describe(realm, thrown.error, budgetMs, labels));
}

function drain(realm: Realm, budgetMs: number): void {
  try {
    realm.step("drain", budgetMs);
  } catch {
    throw new LoadFailure({ message: TIMED_OUT });
  }
}

/** The thrown value belongs to user code: only the harness, under the time limit, looks at it. */
function describe(realm: Realm, thrown: unknown, budgetMs: number, labels: Labels): UserError {
  realm.harness.hold(thrown);
  try {
    realm.step("describe", budgetMs);
  } catch {
    return { message: TIMED_OUT };
  }
  const [message, stack] = JSON.parse(realm.harness.description()) as [string, string];
  return loadError(message, stack, labels);
}
