import type { FollowedMessage } from "../../api/client.ts";

/** Result of delivering an event to one destination. */
export interface DestinationOutcome {
  destinationId: string;
  stage: "delivered" | "dropped" | "dead-letter";
  at: string;
  /** The event as it was sent to the destination, or as it was when it failed. */
  event?: unknown;
  reason?: string;
}

/** An event of the live tail (stream of new events), with its results at destinations so far. */
export interface TailEvent {
  messageId: string;
  sourceId: string;
  at: string;
  /**
   * The event as the server received it. Undefined when the server received it before the tail was
   * opened.
   */
  received?: unknown;
  outcomes: readonly DestinationOutcome[];
}

const EVENTS_MAX = 1_000;
/** Maximum number of characters of an event that the text filter searches. */
const SEARCHED_CHARS_MAX = 20_000;

/**
 * The latest `EVENTS_MAX` events of a live tail (stream of new events). Collects the results of
 * each event at its destinations.
 */
export class EventBuffer {
  readonly #events = new Map<string, TailEvent>();
  readonly #texts = new WeakMap<TailEvent, string>();

  add({ name, data }: FollowedMessage): void {
    const { messageId, sourceId, at } = data as { messageId: string; sourceId: string; at: string };
    const before = this.#events.get(messageId) ?? { messageId, sourceId, at, outcomes: [] };
    const next =
      name === "received"
        ? { ...before, at, received: data.event }
        : { ...before, outcomes: sortByDestination([...before.outcomes, outcomeOf(name, data)]) };
    this.#events.set(messageId, next);
    if (this.#events.size <= EVENTS_MAX) return;
    const [oldest = ""] = this.#events.keys();
    this.#events.delete(oldest);
  }

  clear(): void {
    this.#events.clear();
  }

  get size(): number {
    return this.#events.size;
  }

  /**
   * Returns the newest events for which `matches` returns true, at most `count`. `text` returns the
   * lower-case JSON text of the event.
   */
  latest(count: number, matches: (event: TailEvent, text: () => string) => boolean): TailEvent[] {
    const latest: TailEvent[] = [];
    for (const event of [...this.#events.values()].reverse()) {
      if (!matches(event, () => this.#textOf(event))) continue;
      latest.push(event);
      if (latest.length === count) break;
    }
    return latest;
  }

  #textOf(event: TailEvent): string {
    const cached = this.#texts.get(event);
    if (cached !== undefined) return cached;
    const text = JSON.stringify(event).slice(0, SEARCHED_CHARS_MAX).toLowerCase();
    this.#texts.set(event, text);
    return text;
  }
}

/** Sorts results by destination id, so that each event lists its destinations in the same order. */
function sortByDestination(outcomes: DestinationOutcome[]): DestinationOutcome[] {
  return outcomes.sort((one, other) => one.destinationId.localeCompare(other.destinationId));
}

function outcomeOf(name: string, data: FollowedMessage["data"]): DestinationOutcome {
  const { destinationId = "", at, event, reason } = data as Record<string, string | undefined>;
  return {
    destinationId,
    at: at ?? "",
    stage: name as DestinationOutcome["stage"],
    ...(event !== undefined && { event }),
    ...(reason !== undefined && { reason }),
  };
}
