import { type Static, type TObject, Type } from "@sinclair/typebox";
import { defined } from "../../../defined.ts";
import { ApiError } from "../../../errors.ts";
import { utf8Text } from "../../../json/bytes.ts";
import { parseFromNode } from "../../../pipeline/model/input-event.ts";
import type { SearchResult } from "../../../pipeline/search/search.ts";
import {
  RECENT_ANSWER_BYTES_MAX,
  RECENT_EVENTS_MAX,
  RECENT_SCAN_BYTES_MAX,
} from "../../../settings/limits.ts";
import { component, oneOf, optionalInteger, text } from "../../../settings/schema-types.ts";
import { type RequestContext, readsEvents, route } from "../../route.ts";
import { Id, isoTime, MissingNodes, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { latestOutcomes } from "../status/node-status.ts";
import { ReceiverResponse } from "./letter-answers.ts";
import { type MergedEvent, mergeRecent, type StoredEvent } from "./recent-merge.ts";
import { ownSources, withOutcomes } from "./search.ts";

/** Outcomes by which recent events can be filtered. */
const filterOutcomes = [
  "delivered",
  "dropped",
  "dead-letter",
  "in-flight",
  "repeated",
  "not-connected",
] as const;

const outcomeNames = [...filterOutcomes, "settled", "unknown"] as const;

const OutcomeAnswer = Type.Object({
  destinationId: Type.String(),
  outcome: oneOf(outcomeNames, {
    description:
      "`settled`: delivered, dropped by code, or a dead letter that was replayed or purged since; " +
      "no node has in memory which. " +
      "`repeated`: not delivered, because an earlier event has the same `messageId`. " +
      "`not-connected`: received while the connection was paused, or before it was made. " +
      "`unknown`: too many dead letters to look through",
  }),
  at: Type.Optional({ ...Time, description: "When the event was delivered, dropped or given up" }),
  event: Type.Optional(
    Type.Unknown({ description: "As it was sent, after user code; or as it failed" }),
  ),
  reason: Type.Optional(text("Why it is a dead letter")),
  response: Type.Optional(ReceiverResponse),
  deadLetterId: Type.Optional(Type.String()),
});

const RecentEvent = component("RecentEvent", {
  messageId: Type.String(),
  sourceId: Type.String(),
  receivedAt: Time,
  at: { ...Time, description: "When it was received, or had its last outcome" },
  received: Type.Optional(
    Type.Unknown({
      description: "As it was received; absent when neither log nor memory has it",
    }),
  ),
  refused: Type.Optional(text("Why it was refused at ingestion, so that it is not delivered")),
  outcomes: Type.Array(OutcomeAnswer, {
    description: "At the destinations of its source; one for each event that user code made",
  }),
});

const recentQuery = {
  sourceId: Type.Optional(Id),
  destinationId: Type.Optional({
    ...Id,
    description: "Events of the sources of this destination, with `outcomes` of it alone",
  }),
  outcome: Type.Optional(
    oneOf(filterOutcomes, {
      description: "What became of the event at one of its destinations",
    }),
  ),
  limit: optionalInteger(1, RECENT_EVENTS_MAX, { default: RECENT_EVENTS_MAX }),
};
type RecentQuery = Static<TObject<typeof recentQuery>>;
type RecentCall = RequestContext<string, RecentQuery, unknown>;

export const recentRoutes = [
  route("GET /v2/events/recent", {
    summary: "List the latest events, before user code and at their destinations, newest first",
    ...readsEvents,
    query: recentQuery,
    answer: Type.Object({
      events: Type.Array(RecentEvent),
      reachedAt: Type.Optional({
        ...Time,
        description:
          "The event logs were read back to this time. Absent when they were read to their beginning, or have enough events",
      }),
      missingNodes: MissingNodes,
    }),
    example: {
      answer: {
        events: [
          {
            messageId: example.event.messageId,
            sourceId: example.ids.source,
            receivedAt: "2026-02-16T01:11:11.586Z",
            at: "2026-02-16T01:11:11.612Z",
            received: example.event,
            outcomes: [
              {
                destinationId: example.ids.destination,
                outcome: "delivered",
                at: "2026-02-16T01:11:11.612Z",
                event: example.event,
              },
            ],
          },
        ],
      },
    },
    async handle(call) {
      const { deps, workspaceId, query } = call;
      const { limit = RECENT_EVENTS_MAX, ...filter } = query;
      using _permit = deps.limiters.recentEvents.acquire(workspaceId);
      const [{ events: stored, reachedAt }, { rows: outcomes, missingNodes }] = await Promise.all([
        latestOfLogs(call, limit),
        latestOutcomes(deps, workspaceId, filter, limit),
      ]);
      const events = mergeRecent(stored, outcomes).filter((event) => matches(event, query));
      return {
        events: events.slice(0, limit).map(answerOf),
        ...(reachedAt !== undefined && { reachedAt: isoTime(reachedAt) }),
        ...(missingNodes.length > 0 && { missingNodes }),
      };
    },
  }),
] as const;

/**
 * Returns the newest events of the event logs, with their outcomes from the ledgers (delivery
 * progress of partitions).
 */
async function latestOfLogs(call: RecentCall, limit: number) {
  const { deps, workspaceId, query, request, closing } = call;
  const { destinationId } = query;
  const isOwn = ownSources(call);
  const connected = destinationId === undefined ? undefined : sourcesOf(call, destinationId);
  const isSource = (id: string) => isOwn(id) && (connected === undefined || connected.has(id));
  const wanted = { limit, isSource, scannedBytesMax: RECENT_SCAN_BYTES_MAX };
  const signal = AbortSignal.any([request.signal, closing]);
  const result = await deps.pipeline.search(wanted, signal).catch((error) => {
    throw signal.aborted ? new ApiError("unavailable", "The request was aborted") : error;
  });
  const found = firstBytes(result.events);
  const all = await withOutcomes({ deps, workspaceId, query: { destinationId } }, found);
  const events = all.map(({ found, outcomes }): StoredEvent => {
    const { messageId, sourceId, receivedAt, refused, event } = found;
    const received = utf8Text(event.json);
    return { messageId, sourceId, receivedAt, received, ...defined({ refused }), outcomes };
  });
  const isCut = result.stopped?.by === "bytes" || result.stopped?.by === "time";
  return { events, reachedAt: isCut ? result.reachedAt : undefined };
}

/** Returns the ids of the sources that are connected to a destination of the caller's workspace. */
function sourcesOf({ deps, workspaceId }: RecentCall, destinationId: string): Set<string> {
  const lane = deps.catalog.live.lane(destinationId);
  if (lane?.destination.workspaceId !== workspaceId) return new Set();
  return new Set(lane.connections.map(({ sourceId }) => sourceId));
}

/**
 * Returns the first events of the list: as many as have at most `RECENT_ANSWER_BYTES_MAX` bytes
 * together, but at least one.
 */
function firstBytes(events: SearchResult["events"]): SearchResult["events"] {
  let bytes = 0;
  const end = events.findIndex(({ event }, index) => {
    bytes += event.json.length;
    return index > 0 && bytes > RECENT_ANSWER_BYTES_MAX;
  });
  return end === -1 ? events : events.slice(0, end);
}

function matches({ outcomes }: MergedEvent, { destinationId, outcome }: RecentQuery): boolean {
  if (outcome !== undefined) return outcomes.some((it) => it.outcome === outcome);
  // An event that was refused at ingestion has no outcome at a destination.
  return destinationId === undefined || outcomes.length > 0;
}

function answerOf({ at, receivedAt, received, outcomes, ...event }: MergedEvent) {
  return {
    ...event,
    at: isoTime(at),
    receivedAt: isoTime(receivedAt),
    ...(received !== undefined && { received: parseFromNode(received) }),
    outcomes: outcomes.map(({ at: outcomeAt, event: made, ...outcome }) => ({
      ...outcome,
      ...(outcomeAt !== undefined && { at: isoTime(outcomeAt) }),
      ...(made !== undefined && { event: parseFromNode(made) }),
    })),
  };
}
