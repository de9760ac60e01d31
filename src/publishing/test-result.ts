import { defined } from "../defined.ts";
import type { UserError } from "../sandbox/program.ts";
import type { TestResult } from "./reports.ts";
import { toSuiteResult, transformedEvents, truncateMessage } from "./testing/suite-result.ts";
import { failuresOfTransformation } from "./testing/test-failures.ts";
import type { CodeTestReport } from "./testing/test-run.ts";

/**
 * Converts a test report to the response of `/transformations/libraries/test`. RudderStack's GitHub
 * Action takes failures only from `failedTestResults`, and compares `transformedEvents` with a
 * file.
 * - `failedTestResults`: code that does not load, fails for a test event, or makes other outputs
 *   than a test expects
 * - `transformedEvents`: outputs of the events in the request; without such events, outputs of the
 *   stored test cases or, if there are none, of the default events
 * - `testCases`: results of the stored test cases
 */
export function toTestResult({ transformations, libraries }: CodeTestReport): TestResult {
  const success: TestResult["successTestResults"] = [];
  const failed: TestResult["failedTestResults"] = [];
  for (const { revision, error } of libraries) {
    const { id, name } = revision;
    const output = { transformedEvents: [], logs: [] };
    if (error) failed.push({ id, name, result: { ...errorFields(error), output } });
  }
  for (const transformation of transformations) {
    const { id, name, versionId } = transformation.revision;
    const { runs } = transformation;
    const own = runs.filter(({ suite }) => !suite.isTestCase);
    const cases = runs.filter(({ suite }) => suite.isTestCase);
    const reports = (own.length > 0 ? own : cases).map(({ report }) => report);
    const testCases = cases.map(({ suite, report }) => toSuiteResult(suite, report));
    const output = {
      transformedEvents: reports.flatMap(({ outcomes }) => transformedEvents(outcomes)),
      logs: reports.flatMap(({ logs }) => logs.map(({ text }) => text)),
    };
    const item = { transformerVersionID: versionId, id, name };
    const result = { output, ...(testCases.length > 0 && { testCases }) };
    const error = failuresOfTransformation(transformation)[0]?.error;
    if (error) failed.push({ ...item, result: { ...errorFields(error), ...result } });
    else success.push({ ...item, result });
  }
  return { successTestResults: success, failedTestResults: failed };
}

function errorFields({ message, line, column }: UserError) {
  return { error: truncateMessage(message), ...defined({ line, column }) };
}
