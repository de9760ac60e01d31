import { cutText } from "../../errors.ts";
import type { StoredLetter } from "../model/dead-letter.ts";
import type { JobCounts, JobFailure } from "../model/replay-job.ts";
import { groupNameOf } from "./group-name.ts";

/**
 * Maximum number of failure reasons that a replay counts separately. Failures for any other reason
 * are counted together.
 */
const JOB_FAILURES_MAX = 20;
/** Maximum number of characters of each reason in the list of a replay's failures. */
const REASON_CHARS_MAX = 300;
/** Group id of the failures whose reasons are not counted separately. */
const OTHER = "";

/** Returns a `JobFailure` with `count` 1 for a replayed event that became a dead letter. */
export function jobFailureOf(letter: StoredLetter): JobFailure {
  const groupId = `${letter.destinationId}.${groupNameOf(letter)}`;
  return { groupId, reason: cutText(letter.reason, REASON_CHARS_MAX), count: 1 };
}

/** Returns a new list: the counts in `failures` and `added`, summed by group, largest first. */
export function addFailures(
  failures: readonly JobFailure[],
  added: readonly JobFailure[],
): JobFailure[] {
  const sums = new Map(failures.map((failure) => [failure.groupId, { ...failure }]));
  for (const failure of added) {
    const isKnown = sums.has(failure.groupId);
    const hasRoom = isKnown || sums.size < JOB_FAILURES_MAX;
    const groupId = hasRoom ? failure.groupId : OTHER;
    const before = sums.get(groupId);
    const reason = hasRoom ? failure.reason : "Other reasons";
    const count = (before?.count ?? 0) + failure.count;
    sums.set(groupId, { ...(before ?? { groupId, reason }), count });
  }
  return [...sums.values()].sort((one, other) => other.count - one.count);
}

/** Outcomes of one replay's requeued letters that one commit adds to the replay's counts. */
export interface JobOutcomes {
  workspaceId: string;
  /** Number of letters by outcome. `moved` is 0: the job itself counts the letters it requeues. */
  counts: JobCounts;
  failures: JobFailure[];
}
