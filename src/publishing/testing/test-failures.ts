import type { Detail } from "../../errors.ts";
import { GUEST_ERROR_CHARS_MAX } from "../../settings/limits.ts";
import type { TestFailure } from "../publisher.ts";
import type { CodeTestReport } from "./test-run.ts";

/** The failures of a test run, each with its code, event and position. Pure. */
export function failuresOf(testRun: CodeTestReport): TestFailure[] {
  const libraries = testRun.libraries.flatMap(({ revision, error }): TestFailure[] =>
    error ? [{ kind: "library", revision, error }] : [],
  );
  const transformations = testRun.transformations.flatMap(({ revision, error, runs }) => {
    if (error) return [{ kind: "transformation" as const, revision, error }];
    const outcomes = runs.flatMap(({ report }) => report.outcomes);
    return outcomes.flatMap((outcome, event): TestFailure[] =>
      "error" in outcome ? [{ kind: "transformation", revision, event, error: outcome.error }] : [],
    );
  });
  return [...libraries, ...transformations];
}

/**
 * Failures as details for the caller who sent `versionId`: those in that revision point into the
 * request (`/code`, `/events/0`), those in other code start with the code's name.
 */
export function detailsOf(failures: readonly TestFailure[], versionId: string): Detail[] {
  return failures.map(({ revision, event, error }) => {
    const own = revision.versionId === versionId;
    return {
      path: own && event !== undefined ? `/events/${event}` : "/code",
      message: truncateMessage(own ? error.message : `${revision.name}: ${error.message}`),
      ...(error.line !== undefined && { line: error.line }),
      ...(error.column !== undefined && { column: error.column }),
    };
  });
}

/**
 * Cuts a long message: the sandbox bounds its errors, but an import may have a name of any length.
 */
export function truncateMessage(message: string): string {
  if (message.length <= GUEST_ERROR_CHARS_MAX) return message;
  return `${message.slice(0, GUEST_ERROR_CHARS_MAX - 1)}…`;
}
