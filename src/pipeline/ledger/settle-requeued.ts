import type { NewLetter } from "../model/dead-letter.ts";
import { type JobCounts, noCounts } from "../model/replay-job.ts";
import { addFailures, type JobOutcomes, jobFailureOf } from "./job-failures.ts";
import type { JobTables } from "./job-tables.ts";
import type { RequeuedLetters } from "./requeued-letters.ts";

/** A requeued dead letter that has its final outcome. */
export interface SettledLetter {
  id: string;
  workspaceId: string;
  /** Id of the replay that requeued the letter; absent if an older pixelmill release did so. */
  jobId?: string | undefined;
  outcome: Exclude<keyof JobCounts, "moved">;
  /** The new dead letter, if sending the letter again failed. */
  deadLetter?: NewLetter | undefined;
}

/**
 * Removes the requeued letters in `settled`, which have a final outcome, and counts their outcomes
 * in their replay jobs. Missing letters are not counted, because a repeated commit may have counted
 * them before. Call it only inside a transaction.
 */
export function settleRequeued(
  requeued: RequeuedLetters,
  jobs: JobTables,
  { destinationId, settled }: { destinationId: string; settled: readonly SettledLetter[] },
): void {
  const sums = new Map<string, JobOutcomes>();
  for (const { id, workspaceId, jobId, outcome, deadLetter } of settled) {
    if (jobId !== undefined && requeued.has(destinationId, id)) {
      const none = { workspaceId, counts: { ...noCounts }, failures: [] };
      const sum = sums.getOrInsert(jobId, none);
      sum.counts[outcome] += 1;
      if (deadLetter !== undefined) {
        sum.failures = addFailures(sum.failures, [jobFailureOf(deadLetter)]);
      }
    }
    requeued.remove(destinationId, id);
  }
  for (const [jobId, outcomes] of sums) jobs.settleLetters(jobId, outcomes, Date.now());
}

/**
 * Drops up to `DROP_LETTERS_MAX` requeued letters of a deleted destination. Returns their number,
 * which is 0 when none are left.
 */
export function dropRequeued(
  requeued: RequeuedLetters,
  jobs: JobTables,
  destinationId: string,
): number {
  const settled = requeued.some(destinationId).map(({ letter, jobId }): SettledLetter => {
    return { id: letter.id, workspaceId: letter.workspaceId, jobId, outcome: "discarded" };
  });
  settleRequeued(requeued, jobs, { destinationId, settled });
  return settled.length;
}
