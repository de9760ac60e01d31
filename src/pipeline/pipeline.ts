import type { Positions } from "../catalog/model.ts";

/** Routes, transforms and delivers what the event logs hold: a lane per destination. */
export interface Pipeline {
  /** Where the event logs end now, per log directory name. */
  tails(): Positions;
  deadLetters: DeadLetters;
  tap: Tap;
  /** Lets attempts under way end, commits cursors, closes. */
  close(): Promise<void>;
}

/** An event that was not delivered, kept until somebody replays or purges it. */
export interface DeadLetter {
  id: string;
  workspaceId: string;
  sourceId: string;
  destinationId: string;
  transformationVersionId?: string;
  messageId: string;
  /** `transform` (user code failed) or `deliver` (the destination did not take it). */
  stage: "transform" | "deliver";
  reason: string;
  line?: number;
  column?: number;
  attempts: number;
  /** The event as it entered the stage that failed. */
  event: unknown;
  receivedAt: number;
  createdAt: number;
}

export interface DeadLetters {
  /** Oldest first; `after` is the id of the last one seen. */
  list(
    workspaceId: string,
    options: { destinationId?: string; after?: string; count: number },
  ): DeadLetter[];
  get(workspaceId: string, id: string): DeadLetter | undefined;
  count(workspaceId: string): number;
  /** Sends them once more, through the code that is live now; each settles again. */
  replay(workspaceId: string, ids: readonly string[]): Promise<{ replayed: number }>;
  purge(workspaceId: string, ids: readonly string[]): Promise<{ purged: number }>;
}

/** One event on its way, as the live tail shows it. */
export interface TapMessage {
  stage: "received" | "delivered" | "dropped" | "dead-letter";
  sourceId: string;
  destinationId?: string;
  at: number;
  messageId: string;
  event?: unknown;
  reason?: string;
}

export interface Tap {
  /** Returns the end of the subscription. A slow subscriber misses messages; none is kept. */
  subscribe(workspaceId: string, receive: (message: TapMessage) => void): () => void;
}
