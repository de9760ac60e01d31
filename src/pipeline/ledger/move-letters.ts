import type { RequeuedLetter } from "../model/dead-letter.ts";
import type { LetterJob } from "../model/replay-job.ts";
import type { JobTables } from "./job-tables.ts";
import type { LetterTables } from "./letter-tables.ts";

/** Result of one step of a job over dead letters. */
export interface MovedLetters {
  /** Letters that were scanned. */
  seen: number;
  /** Letters to requeue; none of a purge. */
  requeued: RequeuedLetter[];
  /** Whether the job has ended. */
  isOver: boolean;
}

export interface MoveStep {
  workspaceId: string;
  id: string;
  count: number;
  now: number;
}

/**
 * Takes the next letters of a job out of the tables, as many as one transaction should, and
 * advances
 * the job. Only inside a change: both are done, or neither is.
 */
export function moveLetters(
  letters: LetterTables,
  jobs: JobTables,
  { workspaceId, id, count, now }: MoveStep,
): MovedLetters {
  const job = jobs.get(workspaceId, id);
  if (job === undefined || job.kind === "events" || job.state !== "running") {
    return { seen: 0, requeued: [], isOver: true };
  }
  const scanned = letters.scan(workspaceId, job.filter, { ...job, count });
  const { taken, done } = letters.take(workspaceId, scanned.ids);
  const isCut = done < scanned.ids.length;
  const reached = isCut ? scanned.ids[done - 1] : scanned.reached;
  const seen = isCut ? done : scanned.seen;
  const moved = job.counts.moved + taken.length;
  const advanced: LetterJob = { ...job, seen: job.seen + seen, counts: { ...job.counts, moved } };
  jobs.put({ ...advanced, after: reached ?? job.after });
  if (reached === undefined) jobs.end(workspaceId, id, { state: "done", endedAt: now });
  const isPurge = job.kind === "purge";
  const requeued = isPurge ? [] : taken.map((letter) => ({ letter, replayedAt: now }));
  return { seen, requeued, isOver: reached === undefined };
}
