import { DETAILS_MAX } from "../settings/limits.ts";
import { toSuiteResult } from "./testing/suite-result.ts";
import { failuresOf, truncateMessage } from "./testing/test-failures.ts";
import type { CodeTestReport, TransformationTestReport } from "./testing/test-run.ts";

/**
 * Returns the warnings of a publish that succeeded: about failing tests of code that had been
 * published before, test suites with an unexpected output, and code that drops every test event.
 * Pure function.
 */
export function warningsOf(testRun: CodeTestReport): string[] {
  const failures = failuresOf(testRun).map(({ revision, event, error }) => {
    const place = event === undefined ? "" : `test event ${event + 1}: `;
    const line = error.line === undefined ? "" : ` (line ${error.line})`;
    return `${revision.name}: ${place}${error.message.split("\n")[0]}${line}`;
  });
  const others = testRun.transformations.flatMap(({ revision, runs }) =>
    runs
      .filter(({ suite, report }) => toSuiteResult(suite, report).status === "fail")
      .map(({ suite }) => `${revision.name}: "${suite.name}" does not make the expected output`),
  );
  const unnamed = new Set(testRun.tested.map(({ versionId }) => versionId));
  const dropping = testRun.transformations
    .filter((it) => !unnamed.has(it.revision.versionId) && dropsAll(it))
    .map(({ revision }) => `${revision.name}: the code drops every test event; does it return it?`);
  return [...failures, ...others, ...dropping].slice(0, DETAILS_MAX).map(truncateMessage);
}

/** Whether code drops every test event, although no test suite expects an output. */
function dropsAll({ runs }: TransformationTestReport): boolean {
  const outcomes = runs.flatMap(({ report }) => report.outcomes);
  const expected = runs.some(({ suite }) => suite.expectedOutput !== undefined);
  const dropped = outcomes.every((it) => "events" in it && it.events.length === 0);
  return outcomes.length > 0 && dropped && !expected;
}
