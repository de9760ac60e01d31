import { DETAILS_MAX } from "../settings/limits.ts";
import { truncateMessage } from "./testing/suite-result.ts";
import { failuresOf } from "./testing/test-failures.ts";
import type { CodeTestReport, TransformationTestReport } from "./testing/test-run.ts";

/**
 * Returns the warnings of a successful publication, at most `DETAILS_MAX`: one for each failing
 * test (possible only in a rollback), and one for each transformation that drops every test event.
 * Pure function.
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
 * Whether a transformation drops every test event, which is probably a mistake. False if a test
 * suite states an expected output, because the events may then be dropped on purpose.
 */
function dropsAll({ runs }: TransformationTestReport): boolean {
  const outcomes = runs.flatMap(({ report }) => report.outcomes);
  const expected = runs.some(({ suite }) => suite.expectedOutput !== undefined);
  const dropped = outcomes.every((it) => "events" in it && it.events.length === 0);
  return outcomes.length > 0 && dropped && !expected;
}
