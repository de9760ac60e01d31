import { eventKey } from "../../../pipeline/model/event-key.ts";
import type { LatestOutcome } from "../../../pipeline/recent/latest-outcomes.ts";
import type { FoundOutcome } from "../../../pipeline/search/event-outcomes.ts";
import type { FoundEvent } from "../../../pipeline/search/search.ts";

/** An event from the event logs, with outcomes from the ledgers (delivery progress). */
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

/** A recent event as it was received, with its outcome at each destination. */
export interface MergedEvent extends Omit<StoredEvent, "received" | "outcomes"> {
  /** Time of the event's latest known outcome. Without one, the time at which it was received. */
  at: number;
  received?: unknown;
  outcomes: MergedOutcome[];
}

/**
 * Merges events of the event logs with the outcomes that nodes hold in memory. Returns each event
 * once, the one with the latest time first.
 */
export function mergeRecent(
  stored: readonly StoredEvent[],
  recent: readonly LatestOutcome[],
): MergedEvent[] {
  const byEvent = Map.groupBy(recent, eventKey);
  const merged = stored.map((event) =>
    mergedEvent({ ...event, at: event.receivedAt }, event.outcomes, byEvent.get(eventKey(event))),
  );
  for (const event of stored) byEvent.delete(eventKey(event));
  for (const outcomes of byEvent.values()) {
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
