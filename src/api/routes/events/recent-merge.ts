import { eventKey } from "../../../pipeline/model/input-event.ts";
import type { LatestOutcome } from "../../../pipeline/recent/latest-outcomes.ts";
import type { FoundOutcome } from "../../../pipeline/search/event-outcomes.ts";
import type { FoundEvent } from "../../../pipeline/search/search.ts";

/**
 * An event of the event logs, and its outcomes at destinations. The outcomes come from the ledgers
 * (stored delivery progress of partitions).
 */
export interface StoredEvent
  extends Pick<FoundEvent, "messageId" | "sourceId" | "receivedAt" | "refused"> {
  /** The event as received, as JSON text. */
  received: string;
  outcomes: readonly FoundOutcome[];
}

/**
 * Outcome of an event at a destination, from the memory of a node or from a ledger (delivery
 * progress of a partition).
 */
interface MergedOutcome
  extends Omit<FoundOutcome, "outcome">,
    Partial<Pick<LatestOutcome, "at" | "event" | "response">> {
  outcome: FoundOutcome["outcome"] | LatestOutcome["outcome"];
}

/** A recent event in the form in which it was received, with its outcomes at the destinations. */
export interface MergedEvent extends Omit<StoredEvent, "received" | "outcomes"> {
  /**
   * Time of the event's latest outcome that a node has in memory. If no node has an outcome in
   * memory, this is the time at which the event was received.
   */
  at: number;
  received?: string;
  outcomes: MergedOutcome[];
}

/**
 * Merges events of the event logs (`stored`) with the outcomes that nodes have in memory
 * (`recent`). Adds the events of `recent` that are not in `stored`. Returns each event once, sorted
 * by `at`, the latest first.
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
