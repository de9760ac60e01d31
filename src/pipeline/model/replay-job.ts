import type { ContentFilter } from "../../event/content-filter.ts";
import type { Positions } from "../../log/positions.ts";
import type { LetterFilter } from "./dead-letter.ts";
import type { CursorRecord } from "./lane-record.ts";

/** A filter of replayed events, in addition to their source and time of receipt. */
export interface EventFilter extends ContentFilter {
  /** Event type as in RudderStack: `page`, `track`, … */
  type?: string;
  /** Event name of a `track` event, page name of a `page` event. */
  event?: string;
  userId?: string;
  anonymousId?: string;
  /** The messageIds of the events; those that the server made are UUIDs in lower case. */
  messageIds?: readonly string[];
}

/** Counts of a replay job's events, or of its dead letters, by outcome. */
export interface JobCounts {
  /** Number of events of which at least one output reached the destination. */
  delivered: number;
  /** Number of events for which user code returned no event. */
  dropped: number;
  /** Number of events that became dead letters, or did so again. */
  failed: number;
  /**
   * Number of events that were discarded because their job was cancelled, or their destination
   * removed, while they were in progress.
   */
  discarded: number;
  /** Number of dead letters that were requeued for delivery, or deleted by a purge. */
  moved: number;
}

/** Number of a replay's events that became dead letters for one reason. */
export interface JobFailure {
  /** Id of the group of these dead letters; empty for all reasons that are counted together. */
  groupId: string;
  reason: string;
  count: number;
}

/** The member or the token that began a replay. */
export interface JobAuthor {
  id: string;
  name: string;
}

interface JobBase {
  id: string;
  workspaceId: string;
  state: "running" | "done" | "cancelled" | "failed";
  /** A sentence about why the job failed; absent unless `state` is `failed`. */
  error?: string;
  /** Maximum number of events per second. */
  rate: number;
  createdAt: number;
  endedAt?: number;
  counts: JobCounts;
  /** Failures of the events in `counts.failed`, by reason; absent in jobs of earlier versions. */
  failures?: JobFailure[];
  /** Who started the job; absent in jobs of earlier versions. */
  startedBy?: JobAuthor;
}

/** A job that sends events of the log to one destination again. */
export interface EventJob extends JobBase {
  kind: "events";
  destinationId: string;
  /**
   * The source that was requested; absent when the job replays all sources connected to the
   * destination.
   */
  sourceId?: string;
  sources: readonly string[];
  /**
   * Start of the events' time of receipt, inclusive; `to` is the end, exclusive. Both are in
   * milliseconds since the epoch.
   */
  from: number;
  to: number;
  filter?: EventFilter;
  /**
   * First sequence number of the replayed range in each log. The range ends before the sequence
   * numbers in `ends`.
   */
  starts: Positions;
  ends: Positions;
  /** Read positions of the job, by log. */
  logs: Record<string, CursorRecord>;
  /**
   * Time of receipt of the last event that was taken, in milliseconds since the epoch. Absent
   * before the first event.
   */
  reachedAt?: number;
  /**
   * Time in milliseconds since the epoch before which events may be missing: they were already
   * deleted from the log when the job reached them. Absent when none were.
   */
  missingBefore?: number;
}

/**
 * A job that requeues or deletes all dead letters that matched a filter when the job was created.
 */
export interface LetterJob extends JobBase {
  kind: "dead-letters" | "purge";
  filter: LetterFilter;
  /** Whether the letters were selected one by one, by their ids. */
  isSelection?: true;
  /** The destination of all its letters; absent when they have several. */
  destinationId?: string | undefined;
  /** The reason for which its letters were given up; absent when they have several. */
  reason?: string | undefined;
  /** Time at which all letters were requeued, in milliseconds since the epoch; absent before. */
  movedAt?: number;
  /**
   * Id of the last dead letter that was scanned. The scan ends before the id `before`; letters
   * created after the job have higher ids.
   */
  after: string;
  before: string;
  /**
   * Number of dead letters scanned so far. `total` is the number to scan, counted when the job was
   * created.
   */
  seen: number;
  total: number;
}

/** Number of a job's requeued letters that have no outcome yet. */
export function pendingLetters({ kind, counts }: LetterJob): number {
  if (kind === "purge") return 0;
  const { moved, delivered, dropped, failed, discarded } = counts;
  return Math.max(0, moved - delivered - dropped - failed - discarded);
}

export type ReplayJob = EventJob | LetterJob;

/**
 * Progress of a job that sends logged events again. It is stored together with the delivery
 * progress of the destination. All numbers are totals since the job began.
 */
export interface JobProgress
  extends Pick<
    EventJob,
    "id" | "workspaceId" | "logs" | "counts" | "failures" | "reachedAt" | "missingBefore"
  > {
  /** Time at which the job was complete, in milliseconds since the epoch; absent before. */
  doneAt?: number;
}

export const noCounts: JobCounts = { delivered: 0, dropped: 0, failed: 0, discarded: 0, moved: 0 };
