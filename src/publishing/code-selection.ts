import type { Catalog } from "../catalog/catalog.ts";
import { importNameTaken } from "../catalog/code-errors.ts";
import { familyOf, isPythonModuleName } from "../catalog/import-name.ts";
import type { Revision } from "../catalog/model.ts";
import { ApiError } from "../errors.ts";
import type { CodeSelection, TestEvent, TestSuite } from "./publisher.ts";
import { suitesOf as suitesOfEvents } from "./testing/test-code.ts";
import type { TestRunPlan } from "./testing/test-run.ts";

type Item = CodeSelection["transformations"][number];

/**
 * Plans a test run of the versions whose ids a request contains. Throws `ApiError` for an unknown
 * version (`missing`), an empty selection, two versions of one transformation or library, or two
 * libraries with the same import name.
 */
export function planSelection(
  catalog: Catalog,
  workspaceId: string,
  selection: CodeSelection,
  /**
   * Returns the test events of a revision if the request contains none for it. If it returns
   * undefined, the revision is tested with its stored test cases, or else with the default events.
   */
  eventsOf: (revision: Revision) => TestEvent[] | undefined = () => undefined,
): Omit<TestRunPlan, "withImporters"> {
  if (selection.transformations.length + selection.libraries.length === 0) {
    throw new ApiError("invalid", "Expected at least one transformation or library");
  }
  const transformations = selection.transformations.map((item) => {
    const { versionId } = item;
    const revision = catalog.code.revisionByVersion(workspaceId, "transformation", versionId);
    return { revision, suites: suitesOf(item, eventsOf(revision)) };
  });
  const libraries = selection.libraries.map(({ versionId }) =>
    catalog.code.revisionByVersion(workspaceId, "library", versionId),
  );
  checkOnce(
    "/transformations",
    transformations.map(({ revision }) => revision),
  );
  checkOnce("/libraries", libraries);
  checkImportNames(libraries);
  return { transformations, libraries };
}

/**
 * Checks that libraries may be published under their import names. Throws `ApiError` when an import
 * name belongs to another library, or cannot be the name of a Python module.
 */
export function checkPublishable(
  catalog: Catalog,
  workspaceId: string,
  libraries: readonly Revision[],
): void {
  for (const library of libraries) {
    const { id, language, importName = "" } = library;
    checkModuleName(library);
    const owner = catalog.code.libraryByImportName(workspaceId, language, importName);
    if (owner !== undefined && owner.id !== id) throw importNameTaken();
  }
}

/** Throws `ApiError` when the import name of a Python library cannot be the name of a module. */
export function checkModuleName({ language, importName = "" }: Revision): void {
  if (familyOf(language) !== "python" || isPythonModuleName(importName)) return;
  const message = "Expected a name whose camel case is a Python identifier";
  const details = [{ path: "/name", message }];
  throw new ApiError("invalid", "Python cannot import a library of this name", details);
}

/**
 * Returns the test events that a request contains for one transformation: the inputs of `testSuite`
 * or, if these are empty, `testInput`.
 */
export function eventsIn({ testInput = [], testSuite = [] }: Item): TestEvent[] {
  const suites = testSuite.flatMap(({ input }) => input);
  return suites.length > 0 ? suites : testInput;
}

function suitesOf(item: Item, otherwise: TestEvent[] | undefined): TestSuite[] {
  const { testSuite = [] } = item;
  if (testSuite.some(({ input }) => input.length > 0)) return testSuite;
  const events = eventsIn(item);
  return suitesOfEvents(events.length > 0 ? events : otherwise);
}

function checkOnce(path: string, revisions: readonly Revision[]): void {
  const ids = revisions.map(({ id }) => id);
  const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (twice === -1) return;
  const details = [{ path: `${path}/${twice}`, message: "Duplicate item" }];
  throw new ApiError(
    "invalid",
    "The request names two versions of one transformation or library",
    details,
  );
}

/**
 * Throws `ApiError` when two libraries have the same import name, since code that imports this name
 * would be ambiguous.
 */
export function checkImportNames(libraries: readonly Revision[]): void {
  const names = libraries.map(({ language, importName }) => `${familyOf(language)} ${importName}`);
  if (new Set(names).size < names.length) throw importNameTaken();
}
