import { defined } from "../../defined.ts";
import { parseToShow } from "../../json/parse-exact.ts";
import type { ProgramOutcome, UserError } from "../../sandbox/program.ts";
import type { CheckReport } from "../../sandbox/sandbox.ts";
import type { TestSuite } from "../publisher.ts";
import type { Difference, SuiteResult } from "../reports.ts";
import { differencesOf } from "./differences.ts";
import { truncateMessage } from "./truncate-message.ts";

/** Converts the report of a suite's run to the suite's result. Pure function. */
export function toSuiteResult(suite: TestSuite, report: CheckReport): SuiteResult {
  const actualOutput = report.outcomes.flatMap(outputsOf);
  const errors = report.outcomes.flatMap((outcome, eventIndex) => {
    const error = errorOf(outcome);
    const event = suite.input[eventIndex] ?? {};
    return error ? [{ ...toSuiteError(error), event, eventIndex }] : [];
  });
  const { id, name, description, expectedOutput } = suite;
  const isError = report.error !== undefined || errors.length > 0;
  const differences = isError ? [] : outputDifferences(suite, actualOutput);
  return {
    id,
    name,
    ...(description !== undefined && { description }),
    status: isError ? "error" : differences.length > 0 ? "fail" : "pass",
    actualOutput,
    ...(expectedOutput !== undefined && { expectedOutput }),
    ...(differences.length > 0 && { differences }),
    errors,
    logs: report.logs.map(({ text }) => text),
  };
}

/**
 * Returns the outputs of all events, in order. An event that failed has an object with its error
 * instead.
 */
export function transformedEvents(outcomes: readonly ProgramOutcome[]): unknown[] {
  return outcomes.flatMap((outcome): unknown[] => {
    const error = errorOf(outcome);
    return error ? [{ error: truncateMessage(error.message) }] : outputsOf(outcome);
  });
}

/**
 * Returns the differences between a suite's expected and actual outputs; an empty list when the
 * suite has no expected outputs.
 */
function outputDifferences(suite: TestSuite, actual: readonly unknown[]): Difference[] {
  if (suite.expectedOutput === undefined) return [];
  return differencesOf(suite.expectedOutput, actual);
}

export function outputsOf(outcome: ProgramOutcome): unknown[] {
  if ("error" in outcome) return [];
  return outcome.events.map((json) => parseToShow(Buffer.from(json).toString()));
}

function errorOf(outcome: ProgramOutcome): UserError | undefined {
  return "error" in outcome ? outcome.error : undefined;
}

function toSuiteError({ message, line, column }: UserError) {
  return {
    message: truncateMessage(message),
    ...defined({ line, column }),
  };
}
