import type { Live } from "../../catalog/live.ts";
import type { Destination } from "../../catalog/model.ts";
import { TokenBuckets } from "../../concurrency/rate-limiter.ts";
import type { ShownAnswer } from "../../destinations/answers/receiver-answer.ts";
import {
  RECENT_ANSWER_BYTES_MAX,
  RECENT_EVENT_BYTES_MAX,
  RECENT_EVENTS_BYTES_MAX,
  RECENT_EVENTS_MAX,
  RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX,
  RECENT_EVENTS_PER_SECOND_MAX,
} from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import { parseJsonOrText } from "../model/input-event.ts";
import type { EventOutcome, Output } from "../model/lane-event.ts";
import { shownOutput } from "../model/shown-event.ts";
import { type FinalOutcome, type KeptOutcome, OutcomeList } from "./outcome-list.ts";
import { SharedBytes } from "./shared-bytes.ts";

/** The final outcome of an event at a destination, with the event before and after user code. */
export interface LatestOutcome {
  messageId: string;
  sourceId: string;
  destinationId: string;
  outcome: FinalOutcome;
  receivedAt: number;
  at: number;
  /** The event as it was received. Absent when it is too long. */
  received?: unknown;
  /** The event as the destination got it, or would have got it. Absent when it is too long. */
  event?: unknown;
  reason?: string;
  response?: ShownAnswer;
}

/** Selects the events that a reader wants. An absent condition matches every event. */
export interface RecentFilter {
  sourceId?: string;
  destinationId?: string;
  /** Outcome that the event has at one of the destinations. */
  outcome?: string;
}

interface ListedOutcome {
  list: OutcomeList;
  kept: KeptOutcome;
}

/**
 * The latest events with each outcome at each destination, on this node, in memory. When there are
 * many events per second, it takes only some of them. Each list has a number of events; the lists
 * of a workspace, and all workspaces, share a number of bytes.
 */
export class LatestOutcomes {
  readonly #live: Pick<Live, "destination">;
  /** Members of events made by user code that are not shown, because they may be credentials. */
  readonly #overrideMembers: readonly string[];
  /** Lists by outcome and destination, by workspace. */
  readonly #workspaces = new SharedBytes<SharedBytes<OutcomeList>>();
  readonly #rates: TokenBuckets;

  constructor(
    live: Pick<Live, "destination">,
    clock: Pick<Clock, "elapsed">,
    overrideMembers: readonly string[] = [],
  ) {
    this.#live = live;
    this.#overrideMembers = overrideMembers;
    this.#rates = new TokenBuckets({
      perSecond: RECENT_EVENTS_PER_SECOND_MAX,
      burst: RECENT_EVENTS_MAX,
      now: () => clock.elapsed(),
    });
  }

  /** Bytes of all outcomes. */
  get bytes(): number {
    return this.#workspaces.bytes;
  }

  /** Adds the outcome of these events at a destination: of all, or of some of many per second. */
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
   * Returns all outcomes of the latest `eventsMax` events that have a matching outcome, the newest
   * outcome first, with at most about `RECENT_ANSWER_BYTES_MAX` bytes. Leaves out destinations that
   * were deleted.
   */
  list(workspaceId: string, filter: RecentFilter, eventsMax: number): LatestOutcome[] {
    const { sourceId, destinationId, outcome } = filter;
    const all = [...(this.#workspaces.get(workspaceId)?.parts() ?? [])]
      .map(([, list]) => list)
      .filter((list) => destinationId === undefined || list.destinationId === destinationId)
      .filter((list) => this.#live.destination(list.destinationId)?.workspaceId === workspaceId)
      .flatMap((list) => list.outcomes.map((kept) => ({ list, kept })))
      .filter(({ kept }) => sourceId === undefined || kept.sourceId === sourceId)
      .sort((one, other) => other.kept.at - one.kept.at);
    const matching = all.filter(({ list }) => outcome === undefined || list.outcome === outcome);
    const events = new Set<string>();
    for (const { kept } of matching) if (events.size < eventsMax) events.add(kept.messageId);
    const found: LatestOutcome[] = [];
    let bytes = 0;
    for (const listed of all) {
      const { json, received, messageId } = listed.kept;
      if (!events.has(messageId)) continue;
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
      ...(before && { received: parseJsonOrText(before) }),
      ...(json && {
        event: received ? shownOutput(json, this.#overrideMembers) : parseJsonOrText(json),
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
