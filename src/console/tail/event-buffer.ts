import type { FollowedMessage } from "../../api/client.ts";

/** How an event ended at one destination. */
export interface DestinationOutcome {
  destinationId: string;
  stage: "delivered" | "dropped" | "dead-letter";
  at: string;
  /** As it was delivered, or was to be. */
  event?: unknown;
  reason?: string;
}

/** One event on its way. */
export interface TailEvent {
  messageId: string;
  sourceId: string;
  at: string;
  /** As it was received; undefined when the reader came later. */
  received?: unknown;
  outcomes: readonly DestinationOutcome[];
}

/** Events that are remembered; older ones go. */
const TAIL_EVENTS_MAX = 1_000;
/** Of an event, what a text is looked for in. */
const SEARCHED_CHARS_MAX = 20_000;

/** The latest events of a live tail, each with what became of it. */
export class EventBuffer {
  readonly #events = new Map<string, TailEvent>();
  readonly #texts = new WeakMap<TailEvent, string>();

  add({ name, data }: FollowedMessage): void {
    const { messageId, sourceId, at } = data as { messageId: string; sourceId: string; at: string };
    const known = this.#events.get(messageId) ?? { messageId, sourceId, at, outcomes: [] };
    const next =
      name === "received"
        ? { ...known, at, received: data.event }
        : { ...known, outcomes: sortByDestination([...known.outcomes, outcomeOf(name, data)]) };
    this.#events.set(messageId, next);
    if (this.#events.size <= TAIL_EVENTS_MAX) return;
    const [oldest = ""] = this.#events.keys();
    this.#events.delete(oldest);
  }

  clear(): void {
    this.#events.clear();
  }

  get size(): number {
    return this.#events.size;
  }

  /** The newest that fit, up to `count`. */
  latest(count: number, fits: (passing: TailEvent, text: () => string) => boolean): TailEvent[] {
    const found: TailEvent[] = [];
    for (const passing of [...this.#events.values()].reverse()) {
      if (!fits(passing, () => this.#textOf(passing))) continue;
      found.push(passing);
      if (found.length === count) break;
    }
    return found;
  }

  #textOf(passing: TailEvent): string {
    const known = this.#texts.get(passing);
    if (known !== undefined) return known;
    const text = JSON.stringify(passing).slice(0, SEARCHED_CHARS_MAX).toLowerCase();
    this.#texts.set(passing, text);
    return text;
  }
}

/** Destinations stand in the same order at every event, whichever was first. */
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
