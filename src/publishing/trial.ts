import type { Catalog, CodeChange } from "../catalog/catalog.ts";
import { importersThrough } from "../catalog/code/closure.ts";
import type { Kind, Revision } from "../catalog/model.ts";
import { pooledMap } from "../concurrency/pooled-map.ts";
import { ApiError } from "../errors.ts";
import { SandboxUnavailable } from "../sandbox/sandbox.ts";
import { tryImporter, tryLibrary, tryTransformation } from "./checks.ts";
import { type Inspected, inspect, type Resolved, resolve } from "./imports.ts";
import type { Testing } from "./testing.ts";
import type { Trial, Trialed } from "./trialed.ts";

/** Throw-away guests that one request uses at the same time. */
const PUBLISH_CHECKS_AT_ONCE = 4;

/**
 * Reads, resolves and runs code in throw-away guests. Stores nothing; refuses when the caller has
 * hung up.
 */
export async function tryOut(
  testing: Testing,
  workspaceId: string,
  trial: Trial,
): Promise<Trialed> {
  const { catalog } = testing;
  const at = <T, R>(items: readonly T[], work: (item: T) => Promise<R>) =>
    pooledMap(items, PUBLISH_CHECKS_AT_ONCE, (item) => available(() => work(item)));
  const read = async ({ revision }: { revision: Revision }): Promise<Inspected> => {
    // A revision never changes: its imports are known if it was ever published.
    const { imports } = catalog.code.past(revision);
    return imports ? { revision, imports } : inspect(testing, revision);
  };

  const own = await at(
    trial.libraries.map((revision) => ({ revision })),
    read,
  );
  const named = await at(trial.transformations, read);
  const importers = trial.withImporters ? importersOf(catalog, workspaceId, trial) : [];
  const importing = (kind: Kind) => importers.filter(({ revision }) => revision.kind === kind);
  const resolved = (code: Inspected) => resolve(catalog, code, own);

  const libraries = [...own, ...importing("library")].map(resolved);
  const transformations = named.map(resolved);
  const others = importing("transformation").map((code) => {
    return { after: resolved(code), before: resolve(catalog, code, []) };
  });
  const used = [...libraries, ...transformations, ...others.map(({ after }) => after)];
  const suites = new Map(trial.transformations.map((it) => [it.revision.versionId, it.suites]));
  const trialed = {
    libraries: await at(libraries, (code) => tryLibrary(testing, code)),
    transformations: [
      ...(await at(transformations, (code) =>
        tryTransformation(testing, code, suites.get(code.revision.versionId) ?? []),
      )),
      ...(await at(others, ({ after, before }) => tryImporter(testing, after, before))),
    ],
    seen: seenBy(used, trial),
    tested: importers.map(({ revision }) => ({ versionId: revision.versionId })),
  };
  if (testing.budget.callerHungUp) throw new ApiError("unavailable", "The caller hung up");
  return trialed;
}

/**
 * Published code that imports the libraries, also by way of other libraries, and that the request
 * does not name.
 */
function importersOf(catalog: Catalog, workspaceId: string, trial: Trial): Inspected[] {
  const { code } = catalog;
  const importers = importersThrough(
    [...trial.libraries, ...trial.transformations.map(({ revision }) => revision)],
    ({ kind, language, importName = "" }) => {
      if (kind !== "library") return [];
      return code.importers(workspaceId, language, importName).map(({ revision }) => revision);
    },
    ({ id }) => id,
  );
  return importers.map((revision) => ({ revision, imports: code.past(revision).imports ?? [] }));
}

/** The published libraries that the code ran with, without those of the trial itself. */
function seenBy(code: readonly Resolved[], trial: Trial): CodeChange["seen"] {
  const own = new Set(trial.libraries.map(({ versionId }) => versionId));
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
