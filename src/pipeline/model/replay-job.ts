import type { Positions } from "../../log/positions.ts";
import type { LetterFilter } from "./dead-letter.ts";
import type { CursorRecord } from "./lane-record.ts";

/** Filter of replayed events, besides their source and time of receipt. */
export interface EventFilter {
  /** RudderStack event type: `page`, `track`, … */
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
  /** User code returned no event for them. */
  dropped: number;
  /** They became dead letters. */
  failed: number;
  /** Their job was cancelled while they were in flight. */
  discarded: number;
  /** Dead letters that were requeued to their lanes, or deleted. */
  moved: number;
}

interface JobBase {
  id: string;
  workspaceId: string;
  state: "running" | "done" | "cancelled" | "failed";
  /** Why the job failed, as a sentence. */
  error?: string;
  /** Maximum events per second. */
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
  /** Start and end of the range in each log. */
  starts: Positions;
  ends: Positions;
  /** Cursors of the job, by log. */
  logs: Record<string, CursorRecord>;
  /** Time of receipt of the last event that was taken. */
  reachedAt?: number;
  /** Events received before this time were already trimmed when the job came to them. */
  missingBefore?: number;
}

/** Replays or purges the dead letters that matched a filter when the job was created. */
export interface LetterJob extends JobBase {
  kind: "dead-letters" | "purge";
  filter: LetterFilter;
  /** The last letter that was scanned, and the id below which all letters existed at the start. */
  after: string;
  before: string;
  /** Letters that were scanned, and how many there were to scan when the job was created. */
  seen: number;
  total: number;
}

export type ReplayJob = EventJob | LetterJob;

/** Progress of an event job in one lane, as absolute numbers. */
export interface JobProgress
  extends Pick<EventJob, "id" | "workspaceId" | "logs" | "counts" | "reachedAt" | "missingBefore"> {
  /** Time at which the job was complete. */
  doneAt?: number;
}

export const noCounts: JobCounts = { delivered: 0, dropped: 0, failed: 0, discarded: 0, moved: 0 };
