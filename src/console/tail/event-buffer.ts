import type { FollowedMessage } from "../../api/client.ts";

/** Outcome of an event at one destination. */
export interface DestinationOutcome {
  destinationId: string;
  stage: "delivered" | "dropped" | "dead-letter";
  at: string;
  /** The delivered event, or the event whose delivery failed. */
  event?: unknown;
  reason?: string;
}

/** Event of the live tail, with its outcomes so far. */
export interface TailEvent {
  messageId: string;
  sourceId: string;
  at: string;
  /** The event as received; undefined when that was before the tail was opened. */
  received?: unknown;
  outcomes: readonly DestinationOutcome[];
}

const EVENTS_MAX = 1_000;
/** Characters of an event that a text filter searches. */
const SEARCHED_CHARS_MAX = 20_000;

/** The latest `EVENTS_MAX` events of a live tail, with their outcomes. */
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

  /** The newest `count` events that match. */
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

/** The same order for every event, whichever destination answered first. */
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
