import type { Catalog } from "../catalog/catalog.ts";
import { familyOf, isPythonModuleName } from "../catalog/import-name.ts";
import type { Revision } from "../catalog/model.ts";
import { nameTaken } from "../catalog/refusals.ts";
import { ApiError } from "../errors.ts";
import { suiteOf } from "./checks.ts";
import type { Selection, Suite } from "./publishing.ts";
import type { Trial } from "./trial.ts";

/** The code that a request names by versionId, ready to be tried; `missing` for an unknown one. */
export function selected(
  catalog: Catalog,
  workspaceId: string,
  selection: Selection,
): Omit<Trial, "withImporters"> {
  if (selection.transformations.length + selection.libraries.length === 0) {
    throw new ApiError("invalid", "Expected at least one transformation or library");
  }
  const transformations = selection.transformations.map((item) => {
    const { versionId } = item;
    const revision = catalog.code.revisionByVersion(workspaceId, "transformation", versionId);
    return { revision, suites: suitesOf(item) };
  });
  const libraries = selection.libraries.map(({ versionId }) =>
    catalog.code.revisionByVersion(workspaceId, "library", versionId),
  );
  checkOnce(
    "/transformations",
    transformations.map(({ revision }) => revision),
  );
  checkOnce("/libraries", libraries);
  checkNames(libraries);
  return { transformations, libraries };
}

/** Rules of publishing that need no guest. */
export function checkPublishable(
  catalog: Catalog,
  workspaceId: string,
  libraries: readonly Revision[],
): void {
  for (const { id, language, importName = "" } of libraries) {
    if (familyOf(language) === "python" && !isPythonModuleName(importName)) {
      const message = "Expected a name whose camel case is a Python identifier";
      const details = [{ path: "/name", message }];
      throw new ApiError("invalid", "Python cannot import a library of this name", details);
    }
    const owner = catalog.code.libraryByImportName(workspaceId, language, importName);
    if (owner !== undefined && owner.id !== id) throw nameTaken();
  }
}

function suitesOf({ testInput, testSuite = [] }: Selection["transformations"][number]): Suite[] {
  if (testSuite.some(({ input }) => input.length > 0)) return testSuite;
  return [suiteOf(testInput)];
}

function checkOnce(path: string, revisions: readonly Revision[]): void {
  const ids = revisions.map(({ id }) => id);
  const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (twice === -1) return;
  const details = [{ path: `${path}/${twice}`, message: "Expected one version of each" }];
  throw new ApiError("invalid", "The request names two versions of one thing", details);
}

/** Which of two would an import mean? */
function checkNames(libraries: readonly Revision[]): void {
  const names = libraries.map(({ language, importName }) => `${familyOf(language)} ${importName}`);
  if (new Set(names).size < names.length) throw nameTaken();
}
