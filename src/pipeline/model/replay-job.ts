import type { ContentFilter } from "../../event/content-filter.ts";
import type { Positions } from "../../log/positions.ts";
import type { LetterFilter } from "./dead-letter.ts";
import type { CursorRecord } from "./lane-record.ts";

/** Conditions on the events of a replay, besides the job's source and time range. */
export interface EventFilter extends ContentFilter {
  /** Event type as in RudderStack: `page`, `track`, … */
  type?: string;
  /** Event name of a `track` event, page name of a `page` event. */
  event?: string;
  userId?: string;
  anonymousId?: string;
  /**
   * The messageIds of the events to replay. A messageId that pixelmill made (a lower-case UUID) is
   * also found in upper case.
   */
  messageIds?: readonly string[];
}

/** Counts of the events or dead letters that a replay job has sent again, by outcome. */
export interface JobCounts {
  /** Number of events of which at least one output reached the destination. */
  delivered: number;
  /** Number of events for which user code returned no event. */
  dropped: number;
  /**
   * Number of events that became dead letters, including events that had already been dead letters
   * before the job.
   */
  failed: number;
  /**
   * Number of events that were given up while in progress, because the job was cancelled or the
   * destination removed.
   */
  discarded: number;
  /** Number of dead letters requeued for delivery, or deleted by a job of kind `purge`. */
  moved: number;
}

/** Events of a replay that became dead letters for one reason; `count` is their number. */
export interface JobFailure {
  /**
   * Id of the dead-letter group of the failed events. The empty string stands for all reasons
   * beyond the maximum number of reasons that a job counts separately.
   */
  groupId: string;
  reason: string;
  count: number;
}

/** The workspace member or the API token that started a job. */
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
  /** Maximum number of events per second that the job sends. */
  rate: number;
  createdAt: number;
  endedAt?: number;
  counts: JobCounts;
  /** Failures of the events in `counts.failed`, by reason; absent in jobs of earlier versions. */
  failures?: JobFailure[];
  /** The member or the API token that started the job; absent in jobs of earlier versions. */
  startedBy?: JobAuthor;
}

/** A job that sends events of the log to one destination again. */
export interface EventJob extends JobBase {
  kind: "events";
  destinationId: string;
  /**
   * Id of the source that the API request for the job named. Absent when the request named none:
   * the job then replays all sources connected to the destination.
   */
  sourceId?: string;
  sources: readonly string[];
  /**
   * The job replays events received from `from` (inclusive) to `to` (exclusive). Both are in
   * milliseconds since the epoch.
   */
  from: number;
  to: number;
  filter?: EventFilter;
  /**
   * Log → first sequence number of the replayed range. `ends` holds the sequence numbers before
   * which the range ends.
   */
  starts: Positions;
  ends: Positions;
  /** Log → position up to which the job has read, and the taken events without a final outcome. */
  logs: Record<string, CursorRecord>;
  /**
   * Time in milliseconds since the epoch at which the last event that the job has read was
   * received. Absent before the first event.
   */
  reachedAt?: number;
  /**
   * Time in milliseconds since the epoch before which events may be missing, because they were
   * already deleted from the log when the job reached them. Absent when none were deleted.
   */
  missingBefore?: number;
}

/**
 * A job that requeues or deletes all dead letters that matched a filter when the job was created.
 */
export interface LetterJob extends JobBase {
  kind: "dead-letters" | "purge";
  filter: LetterFilter;
  /** Whether the job's dead letters were selected by their ids, not by a filter. */
  isSelection?: true;
  /** Id of the destination of all letters of the job; absent when they have several. */
  destinationId?: string | undefined;
  /** Reason why delivery of all the job's letters was given up; absent when they have several. */
  reason?: string | undefined;
  /**
   * When all the job's letters had been requeued or deleted, in ms since the epoch; else absent.
   */
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

/** Returns the number of letters that a job has requeued and that have no outcome yet. */
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

/**
 * Returns the destination and the reason that all of the letters or jobs have; undefined for each
 * that differs.
 */
export function commonScope(all: readonly Pick<LetterJob, "destinationId" | "reason">[]) {
  const common = (key: "destinationId" | "reason") =>
    all.every((it) => it[key] === all[0]?.[key]) ? all[0]?.[key] : undefined;
  return { destinationId: common("destinationId"), reason: common("reason") };
}

export function addCounts(one: JobCounts, other: JobCounts): JobCounts {
  return {
    delivered: one.delivered + other.delivered,
    dropped: one.dropped + other.dropped,
    failed: one.failed + other.failed,
    discarded: one.discarded + other.discarded,
    moved: one.moved + other.moved,
  };
}

export const noCounts: JobCounts = { delivered: 0, dropped: 0, failed: 0, discarded: 0, moved: 0 };
