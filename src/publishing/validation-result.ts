import type { Catalog } from "../catalog/catalog.ts";
import type { Revision } from "../catalog/model.ts";
import type { LibraryValidation, SuitesReport, TransformationValidation } from "./reports.ts";
import { toSuiteResult, truncateMessage } from "./testing/suite-result.ts";
import type {
  CodeTestReport,
  LibraryTestReport,
  TransformationTestReport,
} from "./testing/test-run.ts";

/**
 * Converts a test report to the response of `POST /transformations/tests/run`. Published code that
 * was tested only because it imports a library of the request is listed only if it fails.
 */
export function toValidationResult(catalog: Catalog, testRun: CodeTestReport): SuitesReport {
  const libraries = testRun.libraries.map((it) => library(catalog, it));
  const transformations = testRun.transformations.map((it) => transformation(catalog, it));
  const pass = [...libraries, ...transformations].every((it) => it.pass);
  const unnamed = new Set(testRun.tested.map(({ versionId }) => versionId));
  const shown = (it: { pass: boolean; versionId: string }) =>
    !it.pass || !unnamed.has(it.versionId);
  return {
    pass,
    ...(!pass && { message: "Some of the code does not pass its tests" }),
    validationOutput: {
      libraries: libraries.filter(shown),
      transformations: transformations.filter(shown),
    },
  };
}

function library(catalog: Catalog, { revision, error }: LibraryTestReport): LibraryValidation {
  return {
    ...identity(catalog, revision),
    handleName: revision.importName ?? "",
    pass: error === undefined,
    ...(error && { message: truncateMessage(error.message) }),
  };
}

function transformation(
  catalog: Catalog,
  { revision, imports, error, runs }: TransformationTestReport,
): TransformationValidation {
  const results = runs.map(({ suite, report }) => toSuiteResult(suite, report));
  const statuses = new Set(results.map(({ status }) => status));
  const status = error || statuses.has("error") ? "error" : statuses.has("fail") ? "fail" : "pass";
  return {
    ...identity(catalog, revision),
    imports,
    pass: status === "pass",
    ...(error && { message: truncateMessage(error.message) }),
    testResult: { status, results },
  };
}

function identity(catalog: Catalog, { workspaceId, kind, id, name, versionId }: Revision) {
  const { externalId } = catalog.code.resource(workspaceId, kind, id);
  return { id, ...(externalId !== undefined && { externalId }), name, versionId };
}
