import { DETAILS_MAX } from "../settings/limits.ts";
import type { TestFailure } from "./publisher.ts";
import { truncateMessage } from "./testing/suite-result.ts";
import { failuresOf } from "./testing/test-failures.ts";
import type { CodeTestReport, TransformationTestReport } from "./testing/test-run.ts";

/**
 * Returns the warnings of a successful publication, at most `DETAILS_MAX`: one for each failing
 * test (possible only in a rollback), one for each failure that named live code also has without
 * the publication, and one for each transformation that drops every test event. Pure function.
 */
export function warningsOf(testRun: CodeTestReport): string[] {
  const unnamed = new Set(testRun.tested.map(({ versionId }) => versionId));
  const named = testRun.transformations.filter((it) => !unnamed.has(it.revision.versionId));
  const known = named.flatMap(({ revision, runs }) =>
    runs.flatMap(({ suite, known = [] }) => known.map((it) => ({ revision, suite, ...it }))),
  );
  const failures = [...failuresOf(testRun), ...known].map(lineOf);
  const dropping = named
    .filter(dropsAll)
    .map(({ revision }) => `${revision.name}: the code drops every test event; does it return it?`);
  return [...failures, ...dropping].slice(0, DETAILS_MAX).map(truncateMessage);
}

function lineOf({ revision, suite, event, error }: TestFailure): string {
  const test = suite?.isTestCase ? `"${suite.name}", test event` : "test event";
  const place = event === undefined ? "" : `${test} ${event + 1}: `;
  const line = error.line === undefined ? "" : ` (line ${error.line})`;
  return `${revision.name}: ${place}${error.message.split("\n")[0]}${line}`;
}

/**
 * Whether a transformation drops every test event, which is probably a mistake. False if a test
 * suite states an expected output, because the events may then be dropped on purpose, or if an
 * event fails that also fails with the published libraries.
 */
function dropsAll({ runs }: TransformationTestReport): boolean {
  const outcomes = runs.flatMap(({ report }) => report.outcomes);
  const expected = runs.some(({ suite }) => suite.expectedOutput !== undefined);
  const dropped = outcomes.every((it) => "events" in it && it.events.length === 0);
  const failed = runs.some(({ known = [] }) => known.length > 0);
  return outcomes.length > 0 && dropped && !expected && !failed;
}
