import type { LetterGroup } from "../ledger/letter-groups.ts";
import type { LetterFilter, LetterScan, LetterScanResult } from "../ledger/letter-keys.ts";

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
   * mean the end, since large events make a page shorter, and a part is looked through at a time.
   */
  list(
    workspaceId: string,
    options: LetterFilter & { after?: string; count: number },
  ): DeadLetter[];
  /** As `list`, with the id to go on from; absent at the end. */
  find(
    workspaceId: string,
    options: LetterFilter & { after?: string; count: number },
  ): { letters: DeadLetter[]; reached: string | undefined };
  get(workspaceId: string, id: string): DeadLetter | undefined;
  /** Of a destination or a group; what else the filter says is not reckoned with. */
  count(workspaceId: string, filter?: LetterFilter): number;
  /** Most letters first, of those that are alike the latest. */
  groups(workspaceId: string, destinationId?: string): LetterGroup[];
  /** Ids of a part of what a filter finds, oldest first. */
  ids(workspaceId: string, filter: LetterFilter, part: LetterScan): LetterScanResult;
  /** Sends them once more, through the code that is live now; each settles again. */
  replay(workspaceId: string, ids: readonly string[]): Promise<{ replayed: number }>;
  purge(workspaceId: string, ids: readonly string[]): Promise<{ purged: number }>;
}
