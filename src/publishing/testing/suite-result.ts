import { isDeepStrictEqual } from "node:util";
import type { ProgramOutcome, UserError } from "../../sandbox/program.ts";
import type { CheckReport } from "../../sandbox/sandbox.ts";
import type { SuiteResult, TestSuite } from "../publisher.ts";
import { truncateMessage } from "./test-failures.ts";

/** Converts the report of a suite's run to the suite's result. Pure function. */
export function toSuiteResult(suite: TestSuite, report: CheckReport): SuiteResult {
  const actualOutput = report.outcomes.flatMap(outputsOf);
  const errors = report.outcomes.flatMap((outcome, eventIndex) => {
    const error = errorOf(outcome);
    const event = suite.input[eventIndex] ?? {};
    return error ? [{ ...toSuiteError(error), event, eventIndex }] : [];
  });
  const { id, name, description } = suite;
  return {
    id,
    name,
    ...(description !== undefined && { description }),
    status: report.error || errors.length > 0 ? "error" : compareOutput(actualOutput, suite),
    actualOutput,
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

function compareOutput(actual: readonly unknown[], suite: TestSuite): "pass" | "fail" {
  if (suite.expectedOutput === undefined) return "pass";
  return isDeepStrictEqual(actual, suite.expectedOutput) ? "pass" : "fail";
}

export function outputsOf(outcome: ProgramOutcome): unknown[] {
  if ("error" in outcome) return [];
  return outcome.events.map((json) => JSON.parse(Buffer.from(json).toString()) as unknown);
}

function errorOf(outcome: ProgramOutcome): UserError | undefined {
  return "error" in outcome ? outcome.error : undefined;
}

function toSuiteError({ message, line, column }: UserError) {
  return {
    message: truncateMessage(message),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  };
}
