import { DETAILS_MAX } from "../settings/limits.ts";
import { truncateMessage } from "./testing/suite-result.ts";
import { failuresOf } from "./testing/test-failures.ts";
import type { CodeTestReport, TransformationTestReport } from "./testing/test-run.ts";

/**
 * Returns the warnings of a successful publish: one for each failing test, which does not prevent a
 * rollback, and one for each code that drops every test event. Pure function.
 */
export function warningsOf(testRun: CodeTestReport): string[] {
  const failures = failuresOf(testRun).map(({ revision, suite, event, error }) => {
    const test = suite?.isTestCase ? `"${suite.name}", test event` : "test event";
    const place = event === undefined ? "" : `${test} ${event + 1}: `;
    const line = error.line === undefined ? "" : ` (line ${error.line})`;
    return `${revision.name}: ${place}${error.message.split("\n")[0]}${line}`;
  });
  const unnamed = new Set(testRun.tested.map(({ versionId }) => versionId));
  const dropping = testRun.transformations
    .filter((it) => !unnamed.has(it.revision.versionId) && dropsAll(it))
    .map(({ revision }) => `${revision.name}: the code drops every test event; does it return it?`);
  return [...failures, ...dropping].slice(0, DETAILS_MAX).map(truncateMessage);
}

/**
 * Whether code drops every test event and no test suite states an expected output. The code is then
 * probably wrong.
 */
function dropsAll({ runs }: TransformationTestReport): boolean {
  const outcomes = runs.flatMap(({ report }) => report.outcomes);
  const expected = runs.some(({ suite }) => suite.expectedOutput !== undefined);
  const dropped = outcomes.every((it) => "events" in it && it.events.length === 0);
  return outcomes.length > 0 && dropped && !expected;
}
