import type { Live } from "../../catalog/live.ts";
import type { Destination } from "../../catalog/model.ts";
import { TokenBuckets } from "../../concurrency/rate-limiter.ts";
import type { ShownAnswer } from "../../destinations/answers/receiver-answer.ts";
import { utf8Text } from "../../json/bytes.ts";
import {
  RECENT_ANSWER_BYTES_MAX,
  RECENT_EVENT_BYTES_MAX,
  RECENT_EVENTS_BYTES_MAX,
  RECENT_EVENTS_MAX,
  RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX,
  RECENT_EVENTS_PER_SECOND_MAX,
} from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import { type EventIdentity, eventKey, shownOutput } from "../model/input-event.ts";
import type { EventOutcome, Output } from "../model/lane-event.ts";
import { SharedBytes, type Trimmable } from "./shared-bytes.ts";

type FinalOutcome = Exclude<EventOutcome["kind"], "discarded">;

/** The final outcome of an event at a destination, as it is kept in memory. */
interface KeptOutcome extends EventIdentity {
  at: number;
  /**
   * JSON of the event after user code, or of the received event if no code ran or it returned no
   * event. The field is undefined when the received event, or the event after user code, is too
   * long to be kept.
   */
  json: Uint8Array | undefined;
  /**
   * JSON of the event as received. Undefined when no user code ran, because `json` is then the
   * same, or when the received event or the event after user code is too long to be kept.
   */
  received: Uint8Array | undefined;
  reason?: string;
  response?: ShownAnswer;
}

/** The final outcome of an event at a destination, with the event before and after user code. */
export interface LatestOutcome extends Omit<KeptOutcome, "json" | "received"> {
  destinationId: string;
  outcome: FinalOutcome;
  /**
   * The event as received, as JSON text. Absent when the received event, or the event after user
   * code, has more than `RECENT_EVENT_BYTES_MAX` bytes.
   */
  received?: string;
  /**
   * JSON text of the event as user code returned it for the destination. If no code ran, or it
   * returned no event, this is the received event. Absent in the same cases as `received`.
   */
  event?: string;
}

/** Selects the events that a caller of `list` wants. An absent condition matches every event. */
export interface RecentFilter {
  sourceId?: string;
  destinationId?: string;
  /**
   * Outcome that the event must have at one or more destinations. `list` also returns the event's
   * outcomes at other destinations, unless `destinationId` is given.
   */
  outcome?: string;
}

interface ListedOutcome {
  list: OutcomeList;
  kept: KeptOutcome;
}

/**
 * Keeps the latest events of this node in memory: up to `RECENT_EVENTS_MAX` for each destination
 * and outcome. Events above a mean rate of `RECENT_EVENTS_PER_SECOND_MAX` are not added. The bytes
 * are limited per workspace and in total.
 */
export class LatestOutcomes {
  /** Workspace id → its lists, one for each outcome and destination. */
  readonly #workspaces = new SharedBytes<SharedBytes<OutcomeList>>();
  readonly #rates: TokenBuckets;

  constructor(
    private readonly live: Pick<Live, "destination">,
    clock: Pick<Clock, "elapsed">,
    /**
     * Names of the event members with which user code overrides parts of the delivery request.
     * `list` removes these members from events that user code returned, because their values may be
     * credentials.
     */
    private readonly overrideMembers: readonly string[] = [],
  ) {
    this.#rates = new TokenBuckets({
      perSecond: RECENT_EVENTS_PER_SECOND_MAX,
      burst: RECENT_EVENTS_MAX,
      now: () => clock.elapsed(),
    });
  }

  /** Approximate bytes of memory that the outcomes of all workspaces take. */
  get bytes(): number {
    return this.#workspaces.bytes;
  }

  /**
   * Adds events that got the same outcome at one destination. If the rate limit does not allow all
   * of them, adds as many of the last ones as it allows.
   */
  add(
    outputs: readonly Output[],
    outcome: Exclude<EventOutcome, { kind: "discarded" }>,
    { id, workspaceId }: Destination,
    at: number,
  ): void {
    const key = `${outcome.kind} ${id}`;
    const count = Math.min(outputs.length, this.#rates.available(key));
    if (count === 0) return;
    this.#rates.take(key, count);
    const lists = this.#workspaces.get(workspaceId) ?? new SharedBytes<OutcomeList>();
    const list = lists.get(key) ?? new OutcomeList(outcome.kind, id);
    this.#workspaces.change(workspaceId, lists, RECENT_EVENTS_BYTES_MAX, () =>
      lists.change(key, list, RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX, () => {
        for (const output of outputs.slice(-count)) list.push(keptOutcome(output, outcome, at));
      }),
    );
  }

  /**
   * Returns the kept outcomes, newest first, of the `eventsMax` events with the newest outcomes
   * that match `filter`. Includes their other outcomes, at `filter.destinationId` or at all
   * destinations. Omits the oldest outcomes above about `RECENT_ANSWER_BYTES_MAX` bytes.
   */
  list(workspaceId: string, filter: RecentFilter, eventsMax: number): LatestOutcome[] {
    const { sourceId, destinationId, outcome } = filter;
    const all = [...(this.#workspaces.get(workspaceId)?.parts() ?? [])]
      .map(([, list]) => list)
      .filter((list) => destinationId === undefined || list.destinationId === destinationId)
      .filter((list) => this.live.destination(list.destinationId)?.workspaceId === workspaceId)
      .flatMap((list) => list.outcomes.map((kept) => ({ list, kept })))
      .filter(({ kept }) => sourceId === undefined || kept.sourceId === sourceId)
      .sort((one, other) => other.kept.at - one.kept.at);
    const matching = all.filter(({ list }) => outcome === undefined || list.outcome === outcome);
    const events = new Set<string>();
    for (const { kept } of matching) if (events.size < eventsMax) events.add(eventKey(kept));
    const found: LatestOutcome[] = [];
    let bytes = 0;
    for (const listed of all) {
      const { json, received } = listed.kept;
      if (!events.has(eventKey(listed.kept))) continue;
      bytes += (json?.length ?? 0) + (received?.length ?? 0);
      if (bytes > RECENT_ANSWER_BYTES_MAX) break;
      found.push(this.#shown(listed));
    }
    return found;
  }

  #shown({ list: { outcome, destinationId }, kept }: ListedOutcome): LatestOutcome {
    const { json, received, ...rest } = kept;
    const before = received ?? json;
    return {
      ...rest,
      outcome,
      destinationId,
      ...(before && { received: utf8Text(before) }),
      ...(json && {
        event: received ? JSON.stringify(shownOutput(json, this.overrideMembers)) : utf8Text(json),
      }),
    };
  }
}

function keptOutcome(
  { input, bytes, byCode }: Output,
  outcome: Exclude<EventOutcome, { kind: "discarded" }>,
  at: number,
): KeptOutcome {
  const { sourceId, messageId, receivedAt } = input;
  const received = byCode ? input.event.json : undefined;
  const isLong = Math.max(bytes.length, received?.length ?? 0) > RECENT_EVENT_BYTES_MAX;
  return {
    sourceId,
    messageId,
    receivedAt,
    at,
    // Copies, because the bytes may be views that would keep all events of a batch.
    json: isLong ? undefined : new Uint8Array(bytes),
    received: isLong || received === undefined ? undefined : new Uint8Array(received),
    ...(outcome.kind === "dead-letter" && {
      reason: outcome.reason,
      ...(outcome.response && { response: outcome.response }),
    }),
  };
}

/** Approximate bytes of memory that one `KeptOutcome` takes besides its JSON and its strings. */
const OVERHEAD_BYTES = 600;

/** The latest events with one outcome at one destination, oldest first. */
export class OutcomeList implements Trimmable {
  readonly outcomes: KeptOutcome[] = [];
  bytes = 0;

  constructor(
    readonly outcome: FinalOutcome,
    readonly destinationId: string,
  ) {}

  push(outcome: KeptOutcome): void {
    this.outcomes.push(outcome);
    this.bytes += sizeOf(outcome);
    if (this.outcomes.length > RECENT_EVENTS_MAX) this.#shift();
  }

  trimTo(bytesMax: number): void {
    while (this.bytes > bytesMax) this.#shift();
  }

  #shift(): void {
    this.bytes -= sizeOf(this.outcomes.shift()!);
  }
}

function sizeOf({ json, received, messageId, reason = "", response }: KeptOutcome): number {
  const chars = messageId.length + reason.length + (response?.body?.length ?? 0);
  return (json?.length ?? 0) + (received?.length ?? 0) + OVERHEAD_BYTES + 2 * chars;
}
