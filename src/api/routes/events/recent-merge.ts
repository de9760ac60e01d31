import type { LatestOutcome } from "../../../pipeline/recent/latest-outcomes.ts";
import type { FoundOutcome } from "../../../pipeline/search/event-outcomes.ts";
import type { FoundEvent } from "../../../pipeline/search/search.ts";

/** An event of the event logs, with its outcomes according to the ledgers. */
export interface StoredEvent
  extends Pick<FoundEvent, "messageId" | "sourceId" | "receivedAt" | "refused"> {
  received: unknown;
  outcomes: readonly FoundOutcome[];
}

/** The outcome of an event at a destination, from the memory of a node or from a ledger. */
interface MergedOutcome
  extends Omit<FoundOutcome, "outcome">,
    Partial<Pick<LatestOutcome, "at" | "event" | "response">> {
  outcome: FoundOutcome["outcome"] | LatestOutcome["outcome"];
}

/** A recent event, before user code and at its destinations. */
export interface MergedEvent extends Omit<StoredEvent, "received" | "outcomes"> {
  /** Time of the latest message about the event. */
  at: number;
  received?: unknown;
  outcomes: MergedOutcome[];
}

/**
 * Merges events of the event logs with outcomes that nodes have in memory. Returns each event once,
 * the newest first.
 */
export function mergeRecent(
  stored: readonly StoredEvent[],
  recent: readonly LatestOutcome[],
): MergedEvent[] {
  const byMessage = Map.groupBy(recent, ({ messageId }) => messageId);
  const merged = stored.map((event) =>
    mergedEvent({ ...event, at: event.receivedAt }, event.outcomes, byMessage.get(event.messageId)),
  );
  for (const { messageId } of stored) byMessage.delete(messageId);
  for (const outcomes of byMessage.values()) {
    const { messageId, sourceId, receivedAt, received } = outcomes[0]!;
    const event = { messageId, sourceId, receivedAt, at: receivedAt };
    merged.push(mergedEvent(received === undefined ? event : { ...event, received }, [], outcomes));
  }
  return merged.sort((one, other) => other.at - one.at);
}

function mergedEvent(
  event: Omit<MergedEvent, "outcomes">,
  stored: readonly FoundOutcome[],
  recent: readonly LatestOutcome[] = [],
): MergedEvent {
  const ids = new Map(stored.map((it) => [it.destinationId, it.deadLetterId]));
  const known = recent
    .toSorted((one, other) => one.at - other.at)
    .map(({ messageId: _, sourceId: __, receivedAt: ___, received: ____, ...outcome }) => {
      const deadLetterId = ids.get(outcome.destinationId);
      const isLetter = outcome.outcome === "dead-letter" && deadLetterId !== undefined;
      return isLetter ? { ...outcome, deadLetterId } : outcome;
    });
  // A node's memory knows more than the ledger. Only about dead letters may the ledger know more.
  const others = stored.filter(
    ({ destinationId, outcome }) =>
      !known.some(
        (it) =>
          it.destinationId === destinationId &&
          (outcome !== "dead-letter" || it.outcome === "dead-letter"),
      ),
  );
  const at = Math.max(event.at, ...known.map((it) => it.at));
  return { ...event, at, outcomes: [...known, ...others] };
}
