import type { LetterGroup } from "./groups.ts";
import type { LetterFilter } from "./keys.ts";

/** An event that was not delivered, kept until somebody replays or purges it. */
export interface DeadLetter {
  id: string;
  workspaceId: string;
  sourceId: string;
  destinationId: string;
  transformationVersionId?: string;
  messageId: string;
  /** `transform`: user code failed. `deliver`: the destination did not take the event. */
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
  /**
   * Dead letters, oldest first; `after` is the id of the last one seen. Fewer than `count` do not
   * mean the end, since large events make a page shorter.
   */
  list(
    workspaceId: string,
    options: LetterFilter & { after?: string; count: number },
  ): DeadLetter[];
  get(workspaceId: string, id: string): DeadLetter | undefined;
  count(workspaceId: string, filter?: LetterFilter): number;
  /** Most letters first, of those that are alike the latest. */
  groups(workspaceId: string, destinationId?: string): LetterGroup[];
  /** Ids of the oldest of those that were given up before a time, up to `count`. */
  ids(workspaceId: string, filter: LetterFilter, before: number, count: number): string[];
  /** Sends them once more, through the code that is live now; each settles again. */
  replay(workspaceId: string, ids: readonly string[]): Promise<{ replayed: number }>;
  purge(workspaceId: string, ids: readonly string[]): Promise<{ purged: number }>;
}
