import type { TailMessage } from "../../api/client.ts";

/** How an event ended at one destination. */
export interface Outcome {
  destinationId: string;
  stage: "delivered" | "dropped" | "dead-letter";
  at: string;
  /** As it was delivered, or was to be. */
  event?: unknown;
  reason?: string;
}

/** One event on its way. */
export interface Passing {
  messageId: string;
  sourceId: string;
  at: string;
  /** As it was received; undefined when the reader came later. */
  received?: unknown;
  outcomes: readonly Outcome[];
}

/** Events that are remembered; older ones go. */
const PASSING_MAX = 1_000;
/** Of an event, what a text is looked for in. */
const SEARCHED_CHARS_MAX = 20_000;

/** The latest events of a live tail, each with what became of it. */
export class Flow {
  readonly #events = new Map<string, Passing>();
  readonly #texts = new WeakMap<Passing, string>();

  add({ name, data }: TailMessage): void {
    const { messageId, sourceId, at } = data as { messageId: string; sourceId: string; at: string };
    const known = this.#events.get(messageId) ?? { messageId, sourceId, at, outcomes: [] };
    const next =
      name === "received"
        ? { ...known, at, received: data.event }
        : { ...known, outcomes: inOrder([...known.outcomes, outcomeOf(name, data)]) };
    this.#events.set(messageId, next);
    if (this.#events.size <= PASSING_MAX) return;
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
  latest(count: number, fits: (passing: Passing, text: () => string) => boolean): Passing[] {
    const found: Passing[] = [];
    for (const passing of [...this.#events.values()].reverse()) {
      if (!fits(passing, () => this.#textOf(passing))) continue;
      found.push(passing);
      if (found.length === count) break;
    }
    return found;
  }

  #textOf(passing: Passing): string {
    const known = this.#texts.get(passing);
    if (known !== undefined) return known;
    const text = JSON.stringify(passing).slice(0, SEARCHED_CHARS_MAX).toLowerCase();
    this.#texts.set(passing, text);
    return text;
  }
}

/** Destinations stand in the same order at every event, whichever was first. */
function inOrder(outcomes: Outcome[]): Outcome[] {
  return outcomes.sort((one, other) => one.destinationId.localeCompare(other.destinationId));
}

function outcomeOf(name: string, data: TailMessage["data"]): Outcome {
  const { destinationId = "", at, event, reason } = data as Record<string, string | undefined>;
  return {
    destinationId,
    at: at ?? "",
    stage: name as Outcome["stage"],
    ...(event !== undefined && { event }),
    ...(reason !== undefined && { reason }),
  };
}
