import type { ReplayJob } from "../model/replay-job.ts";

/**
 * Returns the fraction of a replay job that is done, from 0 to 1. For dead letters, it is the
 * fraction that was scanned; requeued letters may still lack an outcome. For events, it is
 * approximate, because sequence numbers may have gaps.
 */
export function fractionDone(job: ReplayJob): number {
  if (job.kind !== "events") return job.total === 0 ? 1 : Math.min(1, job.seen / job.total);
  let all = 0;
  let done = 0;
  for (const [log, end] of Object.entries(job.ends)) {
    const start = job.starts[log] ?? 0;
    const { next, pending } = job.logs[log] ?? { next: start, pending: [] };
    all += end - start;
    done += Math.max(0, Math.min(next, ...pending, end) - start);
  }
  return all === 0 ? 1 : done / all;
}
