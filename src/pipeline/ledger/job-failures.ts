import { cutText } from "../../errors.ts";
import type { StoredLetter } from "../model/dead-letter.ts";
import type { JobCounts, JobFailure } from "../model/replay-job.ts";
import { groupNameOf } from "./group-name.ts";

/**
 * Number of failure reasons that a replay counts separately. All further reasons have one count
 * together.
 */
const JOB_FAILURES_MAX = 20;
/** Number of characters at the start of a reason that a replay shows. */
const REASON_CHARS_MAX = 300;
/** Group id under which all further reasons are counted. */
const OTHER = "";

/** Returns the failure of a replayed event that became a dead letter again, with a count of 1. */
export function jobFailureOf(letter: StoredLetter): JobFailure {
  const groupId = `${letter.destinationId}.${groupNameOf(letter)}`;
  return { groupId, reason: cutText(letter.reason, REASON_CHARS_MAX), count: 1 };
}

/** Adds up the counts of failures by group. Returns the sums, the most frequent group first. */
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

/** Outcomes that one commit stores for letters that one replay has requeued. */
export interface JobOutcomes {
  workspaceId: string;
  /** `moved` is 0: the letters were counted when they were requeued. */
  counts: JobCounts;
  failures: JobFailure[];
}
