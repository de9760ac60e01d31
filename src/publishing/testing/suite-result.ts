import { defined } from "../../defined.ts";
import { cutText } from "../../errors.ts";
import { parseToShow } from "../../json/parse-exact.ts";
import type { ProgramOutcome, UserError } from "../../sandbox/program.ts";
import type { CheckReport } from "../../sandbox/sandbox.ts";
import { GUEST_ERROR_CHARS_MAX } from "../../settings/limits.ts";
import type { TestSuite } from "../publisher.ts";
import type { SuiteResult } from "../reports.ts";
import { differencesOf } from "./differences.ts";

/** Converts the report of a suite's run to the suite's result. Pure function. */
export function toSuiteResult(suite: TestSuite, report: CheckReport): SuiteResult {
  const actualOutput = report.outcomes.flatMap(outputsOf);
  const errors = report.outcomes.flatMap((outcome, eventIndex) => {
    const event = suite.input[eventIndex] ?? {};
    return "error" in outcome ? [{ ...toSuiteError(outcome.error), event, eventIndex }] : [];
  });
  const { id, name, description, expectedOutput } = suite;
  const isError = report.error !== undefined || errors.length > 0;
  const differences =
    isError || expectedOutput === undefined ? [] : differencesOf(expectedOutput, actualOutput);
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
  return outcomes.flatMap((outcome) =>
    "error" in outcome ? [{ error: truncateMessage(outcome.error.message) }] : outputsOf(outcome),
  );
}

export function outputsOf(outcome: ProgramOutcome): unknown[] {
  if ("error" in outcome) return [];
  return outcome.events.map((json) => parseToShow(Buffer.from(json).toString()));
}

function toSuiteError({ message, line, column }: UserError) {
  return { message: truncateMessage(message), ...defined({ line, column }) };
}

/**
 * Cuts a message to `GUEST_ERROR_CHARS_MAX` UTF-16 units. The sandbox limits its own messages, but
 * the message about an import contains a name of any length.
 */
export function truncateMessage(message: string): string {
  return cutText(message, GUEST_ERROR_CHARS_MAX, "…");
}
