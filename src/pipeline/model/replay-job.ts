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
   * MessageIds of the events to replay. An event matches if it has one of these ids as given or in
   * lower case, because a user may write pixelmill's own lower-case ids in upper case.
   */
  messageIds?: readonly string[];
}

/** Numbers of events or dead letters that a replay job has processed, by outcome. */
export interface JobCounts {
  /** Number of events of which at least one output was delivered and none became a dead letter. */
  delivered: number;
  /** Number of events for which user code returned no event. */
  dropped: number;
  /**
   * Number of events that became dead letters. An event that was a dead letter before the job and
   * fails again counts too.
   */
  failed: number;
  /**
   * Number of events taken for delivery, or dead letters requeued, that were not sent: the job was
   * cancelled or failed, the destination was deleted, or user code ran over the event for another
   * dead letter.
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
   * Id of the source to replay, from the API request that created the job. Absent when the request
   * named no source: the job then replays all sources that were connected to the destination at
   * that time.
   */
  sourceId?: string;
  sources: readonly string[];
  /**
   * Start of the job's time range in milliseconds since the epoch. The job replays events with a
   * time of receipt from `from` (inclusive) to `to` (exclusive).
   */
  from: number;
  to: number;
  filter?: EventFilter;
  /**
   * Log → first sequence number of the range to read. `ends` has the sequence numbers at which the
   * range ends (exclusive).
   */
  starts: Positions;
  ends: Positions;
  /**
   * Log → position up to which the job has read, and sequence numbers of the events that were taken
   * for delivery and have no final outcome yet.
   */
  logs: Record<string, CursorRecord>;
  /**
   * Time of receipt, in milliseconds since the epoch, of the last event that was taken for
   * delivery. Absent until then.
   */
  reachedAt?: number;
  /**
   * Time of receipt, in milliseconds since the epoch, before which events of the range may be
   * missing from the replay, because the log had deleted them. Absent when the log had all events
   * of the range.
   */
  missingBefore?: number;
}

/**
 * A job that requeues or deletes dead letters: those that matched a filter when the job was
 * created, or those whose ids a user selected.
 */
export interface LetterJob extends JobBase {
  kind: "dead-letters" | "purge";
  filter: LetterFilter;
  /** Whether the job's dead letters were selected by their ids, not by a filter. */
  isSelection?: true;
  /**
   * Id of the destination that all of the job's letters have. Absent when the letters have several
   * destinations, or when the job's filter names neither a destination nor a group.
   */
  destinationId?: string | undefined;
  /**
   * Reason for which all of the job's letters became dead letters. Absent when the letters have
   * several reasons, or when the job's filter names no group.
   */
  reason?: string | undefined;
  /**
   * Time in milliseconds since the epoch at which the last of the job's letters was requeued or
   * deleted. Absent until then.
   */
  movedAt?: number;
  /**
   * Id of the dead letter that was scanned last; empty before the first scan. Ids below `before`,
   * which leaves out letters created after the job, are scanned first. Ids that contain a future
   * time follow, because a clock was ahead when they were created.
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
 * Returns the `destinationId` and the `reason` that all elements of `all` have in common. Each of
 * the two that differs between the elements is undefined in the result.
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
