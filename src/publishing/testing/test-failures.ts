import type { Detail } from "../../errors.ts";
import { GUEST_ERROR_CHARS_MAX } from "../../settings/limits.ts";
import type { TestFailure } from "../publisher.ts";
import type { CodeTestReport } from "./test-run.ts";

/** Returns the failures in a test report, each with its code, event and position. Pure function. */
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
 * Converts failures to details for the caller who sent the revision `versionId`. The path of a
 * failure in this revision points into the request (`/code`, `/events/0`). The message of a failure
 * in other code begins with the name of that code.
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
 * Cuts a message to `GUEST_ERROR_CHARS_MAX` UTF-16 units. The sandbox limits its own messages, but
 * the message about an import contains a name of any length.
 */
export function truncateMessage(message: string): string {
  if (message.length <= GUEST_ERROR_CHARS_MAX) return message;
  return `${message.slice(0, GUEST_ERROR_CHARS_MAX - 1)}…`;
}
