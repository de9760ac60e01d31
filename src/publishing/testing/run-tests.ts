import type { Catalog } from "../../catalog/catalog.ts";
import { importersThrough } from "../../catalog/code/closure.ts";
import type { CodeChange } from "../../catalog/code/code-changes.ts";
import type { CodeKind, Revision } from "../../catalog/model.ts";
import { pooledMap } from "../../concurrency/pooled-map.ts";
import { ApiError } from "../../errors.ts";
import { SandboxUnavailable } from "../../sandbox/sandbox.ts";
import type { TestSuite } from "../publisher.ts";
import {
  type InspectedCode,
  inspectImports,
  type ResolvedCode,
  resolveImports,
} from "./resolve-imports.ts";
import {
  suitesOf,
  testImporter,
  testLibrary,
  testTransformation,
  withTestCases,
} from "./test-code.ts";
import type { TestContext } from "./test-context.ts";
import type { CodeTestReport, TestRunPlan } from "./test-run.ts";

/** Maximum number of sandbox processes that one request uses for tests at the same time. */
const PUBLISH_CHECKS_AT_ONCE = 4;

/**
 * Tests the code of `plan` in sandbox processes that end after the tests. Failures are part of the
 * report. Throws `ApiError` when the caller has hung up, or when no sandbox process can be started.
 */
export async function runTests(
  context: TestContext,
  workspaceId: string,
  plan: TestRunPlan,
): Promise<CodeTestReport> {
  const { catalog } = context;
  const at = <T, R>(items: readonly T[], work: (item: T) => Promise<R>) =>
    pooledMap(items, PUBLISH_CHECKS_AT_ONCE, (item) => available(() => work(item)));
  const read = async ({ revision }: { revision: Revision }): Promise<InspectedCode> => {
    // A revision never changes: its imports are known if it was ever published.
    const { imports } = catalog.code.history(revision);
    return imports ? { revision, imports } : inspectImports(context, revision);
  };

  const own = await at(
    plan.libraries.map((revision) => ({ revision })),
    read,
  );
  const named = await at(plan.transformations, read);
  const importers = plan.withImporters ? importersOf(catalog, workspaceId, plan) : [];
  const importing = (kind: CodeKind) => importers.filter(({ revision }) => revision.kind === kind);
  const resolved = (code: InspectedCode) => resolveImports(catalog, code, own);

  const libraries = [...own, ...importing("library")].map(resolved);
  const transformations = named.map(resolved);
  const others = importing("transformation").map(resolved);
  const used = [...libraries, ...transformations, ...others];
  const planned = new Map(plan.transformations.map((it) => [it.revision.versionId, it]));
  const storedSuites = (revision: Revision) => suitesOf(catalog.code.history(revision).events);
  const testAsImporter = (code: ResolvedCode, suites: readonly TestSuite[]) =>
    testImporter(context, code, resolveImports(catalog, code, []), suites);
  const testRun = {
    libraries: await at(libraries, (code) => testLibrary(context, code)),
    transformations: [
      ...(await at(transformations, (code) => {
        const { suites = [], isImporter } = planned.get(code.revision.versionId) ?? {};
        const all = withTestCases(catalog, code.revision, suites);
        return isImporter ? testAsImporter(code, all) : testTransformation(context, code, all);
      })),
      ...(await at(others, (code) =>
        testAsImporter(code, withTestCases(catalog, code.revision, storedSuites(code.revision))),
      )),
    ],
    seen: seenBy(used, plan),
    tested: importers.map(({ revision }) => ({ versionId: revision.versionId })),
  };
  if (context.budget.callerHungUp) throw new ApiError("unavailable", "The caller hung up");
  return testRun;
}

/**
 * Returns the published code that imports libraries of `plan`, directly or through other libraries.
 * Leaves out code that `plan` contains.
 */
function importersOf(catalog: Catalog, workspaceId: string, plan: TestRunPlan): InspectedCode[] {
  const { code } = catalog;
  const importers = importersThrough(
    [...plan.libraries, ...plan.transformations.map(({ revision }) => revision)],
    ({ kind, language, importName = "" }) => {
      if (kind !== "library") return [];
      return code.importers(workspaceId, language, importName).map(({ revision }) => revision);
    },
    ({ id }) => id,
  );
  return importers.map((revision) => ({ revision, imports: code.history(revision).imports ?? [] }));
}

/** Returns the published libraries that the tested code used, except those in `plan`. */
function seenBy(code: readonly ResolvedCode[], plan: TestRunPlan): CodeChange["usedLibraries"] {
  const own = new Set(plan.libraries.map(({ versionId }) => versionId));
  const used = code.flatMap(({ libraries }) => libraries).filter((it) => !own.has(it.versionId));
  const byVersion = new Map(used.map((library) => [library.versionId, library]));
  return [...byVersion.values()].map(({ importName = "", language, versionId }) => {
    return { importName, language, versionId };
  });
}

async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SandboxUnavailable)) throw error;
    throw new ApiError(
      "unavailable",
      "The code cannot be tested: user code does not run at the moment, /ready says why",
    );
  }
}
