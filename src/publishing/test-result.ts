import type { UserError } from "../sandbox/program.ts";
import type { TestResult } from "./publisher.ts";
import { transformedEvents } from "./testing/suite-result.ts";
import { truncateMessage } from "./testing/test-failures.ts";
import type { CodeTestReport, TransformationTestReport } from "./testing/test-run.ts";

/**
 * Converts a test report to the response of `/transformations/libraries/test`. Code counts as
 * failed when it does not load and when any of its test events fails, because RudderStack's GitHub
 * Action reads only whether the code failed. Pure function.
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
    const reports = transformation.runs.map(({ report }) => report);
    const output = {
      transformedEvents: reports.flatMap(({ outcomes }) => transformedEvents(outcomes)),
      logs: reports.flatMap(({ logs }) => logs.map(({ text }) => text)),
    };
    const item = { transformerVersionID: versionId, id, name };
    const error = firstError(transformation);
    if (error) failed.push({ ...item, result: { ...errorFields(error), output } });
    else success.push({ ...item, result: { output } });
  }
  return { successTestResults: success, failedTestResults: failed };
}

function firstError({ error, runs }: TransformationTestReport): UserError | undefined {
  if (error) return error;
  const outcomes = runs.flatMap(({ report }) => report.outcomes);
  return outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : []))[0];
}

function errorFields({ message, line, column }: UserError) {
  return {
    error: truncateMessage(message),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  };
}
