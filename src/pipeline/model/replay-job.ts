import type { Positions } from "../../log/positions.ts";
import type { LetterFilter } from "./dead-letter.ts";
import type { CursorRecord } from "./lane-record.ts";

/** Filter of replayed events, besides their source and time of receipt. */
export interface EventFilter {
  /** In RudderStack's words: `page`, `track`, … */
  type?: string;
  /** Event name of a track event, page name of a page. */
  event?: string;
  userId?: string;
  anonymousId?: string;
}

/** Outcomes of the events, or dead letters, of a job. */
export interface JobCounts {
  /** At least one output reached the destination. */
  delivered: number;
  /** Code made nothing of them. */
  dropped: number;
  /** They became dead letters. */
  failed: number;
  /** Their job was cancelled while they were on their way. */
  discarded: number;
  /** Dead letters that were handed to their lanes again, or deleted. */
  moved: number;
}

interface JobBase {
  id: string;
  workspaceId: string;
  state: "running" | "done" | "cancelled" | "failed";
  /** Why the job failed, as a sentence. */
  error?: string;
  /** Events a second, at most. */
  rate: number;
  createdAt: number;
  endedAt?: number;
  counts: JobCounts;
}

/** Sends events of the log to one destination again. */
export interface EventJob extends JobBase {
  kind: "events";
  destinationId: string;
  /** The requested source; absent when all connected sources are replayed. */
  sourceId?: string;
  sources: readonly string[];
  /** Events that were received from this time on, and before `to`. */
  from: number;
  to: number;
  filter?: EventFilter;
  /** Where each log is read from, and up to. */
  starts: Positions;
  ends: Positions;
  /** How far the job is, by log. */
  logs: Record<string, CursorRecord>;
  /** Time of receipt of the last event that was taken. */
  reachedAt?: number;
  /** Events received before this time were already trimmed when the job came to them. */
  missingBefore?: number;
}

/** Replays, or purges, the dead letters that a filter found when the job was made. */
export interface LetterJob extends JobBase {
  kind: "dead-letters" | "purge";
  filter: LetterFilter;
  /** The last letter that was looked at, and the id before which all were made. */
  after: string;
  before: string;
  /** Letters looked at, and how many there were to look at when the job was made. */
  seen: number;
  total: number;
}

export type ReplayJob = EventJob | LetterJob;

/** Progress of an event job in one lane, as absolute numbers. */
export interface JobProgress
  extends Pick<EventJob, "id" | "workspaceId" | "logs" | "counts" | "reachedAt" | "missingBefore"> {
  /** Nothing is left to do; the time when that was so. */
  doneAt?: number;
}

export const noCounts: JobCounts = { delivered: 0, dropped: 0, failed: 0, discarded: 0, moved: 0 };
