import type { FollowedMessage } from "../../api/client.ts";
import type { RecentEvent } from "../data/model.ts";

/**
 * Outcome of an event at one destination. `event` is the event as the destination got it, or as it
 * was when the delivery failed.
 */
export type DestinationOutcome = RecentEvent["outcomes"][number];

/** An event that was received, with its outcomes at destinations so far. */
export interface TailEvent {
  messageId: string;
  sourceId: string;
  /** Time at which the server received the event. */
  at: string;
  /** Time of the tail's first message about the event. Events are sorted by this time. */
  firstAt: string;
  /**
   * Event as the server received it. Undefined until the tail's `received` message arrives, or if
   * the server does not have the event in memory.
   */
  received?: unknown;
  /** Reason why the event was refused at ingestion. Absent if the event was accepted. */
  refused?: string;
  outcomes: readonly DestinationOutcome[];
  /**
   * Whether `outcomes` has all outcomes that the event has had so far. If false, it has only the
   * outcomes that messages of the live tail have reported.
   */
  hasAllOutcomes: boolean;
}

/**
 * Returns the key of an event in the buffer: its source, its time and its messageId. The messageId
 * alone is not enough, because several events may have the same one.
 */
export const tailEventKey = ({
  sourceId,
  at,
  messageId,
}: Pick<TailEvent, "sourceId" | "at" | "messageId">): string => `${sourceId} ${at} ${messageId}`;

const EVENTS_MAX = 1_000;
/** Maximum number of characters of an event that the text filter searches. */
const SEARCHED_CHARS_MAX = 20_000;

/**
 * The latest `EVENTS_MAX` events of a live tail (stream of new events), with the outcomes that were
 * reported for each.
 */
export class EventBuffer {
  #events = new Map<string, TailEvent>();
  /**
   * Number of events that were added since the buffer was created, including those that have left
   * it.
   */
  added = 0;

  add({ name, data }: FollowedMessage): void {
    const { messageId, sourceId, at, receivedAt = at, event } = data as Record<string, string>;
    const first: TailEvent = {
      messageId: messageId!,
      sourceId: sourceId!,
      at: receivedAt!,
      firstAt: at!,
      outcomes: [],
      hasAllOutcomes: false,
    };
    const before = this.get(tailEventKey(first)) ?? first;
    this.#put(
      name === "received"
        ? { ...before, received: event }
        : { ...before, outcomes: mergeOutcomes(before.outcomes, [outcomeOf(name, data)]) },
    );
    this.#deleteOldest();
  }

  /**
   * Adds the events of an answer of `GET /v2/events/recent`. For an event that the buffer already
   * has, merges the outcomes in the answer with those in the buffer that have a time. Stored ones,
   * without a time, are as the answer has them.
   */
  addRecent(events: readonly RecentEvent[]): void {
    // The server lists the newest first. Events of one millisecond keep this order.
    for (const event of events.toReversed()) {
      const recent = tailEventOf(event);
      const known = this.get(tailEventKey(recent));
      const timed = (known?.outcomes ?? []).filter(({ at }) => at !== undefined);
      const outcomes = mergeOutcomes(recent.outcomes, timed);
      this.#put({ ...recent, ...known, outcomes, hasAllOutcomes: true });
    }
    const sorted = [...this.#events].sort(([, one], [, other]) =>
      one.firstAt.localeCompare(other.firstAt),
    );
    this.#events = new Map(sorted);
    this.#deleteOldest();
  }

  clear(): void {
    this.#events.clear();
  }

  get size(): number {
    return this.#events.size;
  }

  get(key: string): TailEvent | undefined {
    return this.#events.get(key);
  }

  /** Returns all events, oldest first. */
  all(): TailEvent[] {
    return [...this.#events.values()];
  }

  #put(event: TailEvent): void {
    const key = tailEventKey(event);
    if (!this.#events.has(key)) this.added++;
    this.#events.set(key, event);
  }

  #deleteOldest(): void {
    for (const key of this.#events.keys()) {
      if (this.#events.size <= EVENTS_MAX) return;
      this.#events.delete(key);
    }
  }
}

const searchedTexts = new WeakMap<TailEvent, string>();

/**
 * Returns the text that the text filter searches: the JSON of an event and its outcomes, in lower
 * case, cut to `SEARCHED_CHARS_MAX` characters.
 */
export function searchedText(event: TailEvent): string {
  const cached = searchedTexts.get(event);
  if (cached !== undefined) return cached;
  const text = JSON.stringify(event).slice(0, SEARCHED_CHARS_MAX).toLowerCase();
  searchedTexts.set(event, text);
  return text;
}

/**
 * Returns the newest events for which `matches` returns true, at most `count`, newest first.
 * `events` has the oldest first.
 */
export function latestOf(
  events: readonly TailEvent[],
  count: number,
  matches: (event: TailEvent) => boolean,
): TailEvent[] {
  const latest: TailEvent[] = [];
  for (let index = events.length - 1; index >= 0 && latest.length < count; index--) {
    if (matches(events[index]!)) latest.push(events[index]!);
  }
  return latest;
}

/** Converts an event from an answer of `GET /v2/events/recent` to an event of the tail. */
export function tailEventOf({ at, receivedAt, outcomes, ...event }: RecentEvent): TailEvent {
  return {
    ...event,
    at: receivedAt,
    firstAt: at,
    outcomes: mergeOutcomes(outcomes, []),
    hasAllOutcomes: true,
  };
}

/**
 * Merges two lists of outcomes of one event, sorted by destination. An outcome with a time (from
 * the server's memory) replaces a stored one, without a time, at the same destination. Only a dead
 * letter replaces a stored dead letter.
 */
function mergeOutcomes(
  before: readonly DestinationOutcome[],
  more: readonly DestinationOutcome[],
): DestinationOutcome[] {
  const merged = new Map<string, DestinationOutcome>();
  for (const it of [...before, ...more]) {
    const key = JSON.stringify([it.destinationId, it.at, it.at && [it.outcome, it.event]]);
    merged.set(key, { ...merged.get(key), ...it });
  }
  const all = [...merged.values()];
  const isReplaced = ({ at, destinationId, outcome }: DestinationOutcome) =>
    at === undefined &&
    all.some(
      (it) =>
        it.at !== undefined &&
        it.destinationId === destinationId &&
        (outcome !== "dead-letter" || it.outcome === "dead-letter"),
    );
  return all
    .filter((outcome) => !isReplaced(outcome))
    .sort((one, other) => one.destinationId.localeCompare(other.destinationId));
}

function outcomeOf(name: string, data: FollowedMessage["data"]): DestinationOutcome {
  const { destinationId, at, event, reason, response } = data as Omit<
    DestinationOutcome,
    "outcome"
  >;
  return {
    destinationId,
    outcome: name as DestinationOutcome["outcome"],
    ...(at !== undefined && { at }),
    ...(event !== undefined && { event }),
    ...(reason !== undefined && { reason }),
    ...(response !== undefined && { response }),
  };
}
