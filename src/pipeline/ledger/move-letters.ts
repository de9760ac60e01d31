import { cutText } from "../../errors.ts";
import type { RequeuedLetter, StoredLetter } from "../model/dead-letter.ts";
import { commonScope, type LetterJob } from "../model/replay-job.ts";
import type { JobTables } from "./job-tables.ts";
import type { LetterTables } from "./letter-tables.ts";

/** Result of one step of a job that requeues or deletes dead letters. A step is one transaction. */
export interface MovedLetters {
  /** The dead letters that the caller must requeue. Empty for a job that deletes letters. */
  requeued: RequeuedLetter[];
  /**
   * Whether the job needs no further step: no letter is left, or the job has ended or does not
   * exist.
   */
  isOver: boolean;
}

export interface MoveStep {
  workspaceId: string;
  id: string;
  count: number;
  now: number;
}

/**
 * Runs one step of a job that requeues or deletes dead letters: removes up to `count` matching
 * letters, as many as fit into one transaction, and stores the progress. The caller's transaction
 * must also store the letters in `requeued`.
 */
export function moveLetters(
  letters: LetterTables,
  jobs: JobTables,
  { workspaceId, id, count, now }: MoveStep,
): MovedLetters {
  const job = jobs.get(workspaceId, id);
  const isOver = job?.state !== "running" || job.kind === "events";
  if (isOver || job.movedAt !== undefined) return { requeued: [], isOver: true };
  const scanned = letters.scan(workspaceId, job.filter, { ...job, count, now });
  const { taken, done } = letters.take(workspaceId, scanned.ids);
  const isCut = done < scanned.ids.length;
  const reached = isCut ? scanned.ids[done - 1] : scanned.reached;
  const moved = job.counts.moved + taken.length;
  const advanced: LetterJob = {
    ...job,
    seen: job.seen + (isCut ? done : scanned.seen),
    counts: { ...job.counts, moved },
    after: reached ?? job.after,
  };
  jobs.put(advanced);
  if (reached === undefined) jobs.endMoving(advanced, now);
  const isPurge = job.kind === "purge";
  const requeued = isPurge ? [] : taken.map((letter) => ({ letter, replayedAt: now, jobId: id }));
  return { requeued, isOver: reached === undefined };
}

/**
 * Adds the letters that a request has just requeued or deleted (`taken`) to the request's entry in
 * the list of replays, `record`. Call it only inside the transaction that takes the letters.
 */
export function recordMoved(
  jobs: JobTables,
  record: LetterJob | undefined,
  taken: readonly StoredLetter[],
  now: number,
): void {
  if (record === undefined || taken.length === 0) return;
  const { destinationId, reason } = commonScope(taken);
  const cut = reason && cutText(reason, REASON_CHARS_MAX);
  const counts = { ...record.counts, moved: taken.length };
  jobs.record({ ...record, destinationId, reason: cut, counts }, now);
}

/** Maximum number of characters of a reason in an entry of the list of replays. */
const REASON_CHARS_MAX = 300;
