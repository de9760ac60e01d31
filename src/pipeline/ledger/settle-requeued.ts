import type { NewLetter } from "../model/dead-letter.ts";
import { type JobCounts, noCounts } from "../model/replay-job.ts";
import { addFailures, type JobOutcomes, jobFailureOf } from "./job-failures.ts";
import type { JobTables } from "./job-tables.ts";
import type { RequeuedLetters } from "./requeued-letters.ts";

/** A requeued dead letter that has its final outcome. */
export interface SettledLetter {
  id: string;
  workspaceId: string;
  /** Replay by which the letter was requeued; absent when an earlier version requeued it. */
  jobId?: string | undefined;
  outcome: Exclude<keyof JobCounts, "moved">;
  /** The dead letter that it became again. */
  deadLetter?: NewLetter | undefined;
}

/**
 * Removes requeued letters of a destination that have their outcome, and counts them in their
 * replays. A letter that is missing was counted before, because a commit whose result is unknown is
 * repeated. Call only inside a transaction.
 */
export function settleRequeued(
  requeued: RequeuedLetters,
  jobs: JobTables,
  { destinationId, settled }: { destinationId: string; settled: readonly SettledLetter[] },
): void {
  const sums = new Map<string, JobOutcomes>();
  for (const { id, workspaceId, jobId, outcome, deadLetter } of settled) {
    if (jobId !== undefined && requeued.has(destinationId, id)) {
      const sum = sums.get(jobId) ?? { workspaceId, counts: { ...noCounts }, failures: [] };
      sum.counts[outcome] += 1;
      if (deadLetter !== undefined) {
        sum.failures = addFailures(sum.failures, [jobFailureOf(deadLetter)]);
      }
      sums.set(jobId, sum);
    }
    requeued.remove(destinationId, id);
  }
  for (const [jobId, outcomes] of sums) jobs.settleLetters(jobId, outcomes, Date.now());
}

/** Drops some requeued letters of a deleted destination; returns their number. */
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
