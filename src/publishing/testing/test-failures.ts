import { defined } from "../../defined.ts";
import type { Detail } from "../../errors.ts";
import type { TestFailure, TestSuite } from "../publisher.ts";
import type { Difference } from "../reports.ts";
import { differenceText } from "./differences.ts";
import { toSuiteResult, truncateMessage } from "./suite-result.ts";
import type { CodeTestReport, TransformationTestReport } from "./test-run.ts";

/** Returns the failures in a test report, each with its code, event and position. Pure function. */
export function failuresOf(testRun: CodeTestReport): TestFailure[] {
  const libraries = testRun.libraries.flatMap(({ revision, error }): TestFailure[] =>
    error ? [{ revision, error }] : [],
  );
  return [...libraries, ...testRun.transformations.flatMap(failuresOfTransformation)];
}

/** Returns the failures of one transformation, in the order of its suites. Pure function. */
export function failuresOfTransformation(tested: TransformationTestReport): TestFailure[] {
  const { revision, error, runs } = tested;
  if (error) return [{ revision, error }];
  return runs.flatMap(({ suite, report }): TestFailure[] => {
    const errors = report.outcomes.flatMap((outcome, event) =>
      "error" in outcome ? [{ revision, suite, event, error: outcome.error }] : [],
    );
    const { differences } = toSuiteResult(suite, report);
    if (differences === undefined) return errors;
    return [{ revision, suite, error: { message: unexpected(suite, differences) }, differences }];
  });
}

function unexpected({ name }: TestSuite, [first]: readonly Difference[]): string {
  const difference = first ? `: ${differenceText(first)}` : "";
  return `"${name}" does not make the expected output${difference}`;
}

/**
 * Converts failures to error details for the caller who sent the revision `versionId`.
 * - Failure in this revision: the path points into the request (`/code`, `/events/0`). For a stored
 *   test case, the detail has the id of the test case.
 * - Failure in other code: the message begins with the name of that code.
 */
export function detailsOf(failures: readonly TestFailure[], versionId: string): Detail[] {
  return failures.map(({ revision, suite, event, error, differences }) => {
    const own = revision.versionId === versionId;
    const { isTestCase = false } = suite ?? {};
    const named = isTestCase && differences === undefined ? `"${suite?.name}": ` : "";
    const message = `${own ? "" : `${revision.name}: `}${named}${error.message}`;
    return {
      path: own && event !== undefined && !isTestCase ? `/events/${event}` : "/code",
      message: truncateMessage(message),
      ...(own && isTestCase && suite && { testCase: suite.id }),
      ...defined({ differences, line: error.line, column: error.column }),
    };
  });
}
