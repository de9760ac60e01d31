import { type Static, Type } from "@sinclair/typebox";
import { assert } from "../../../assert.ts";
import { defined } from "../../../defined.ts";
import { ApiError } from "../../../errors.ts";
import { PROPERTY_PATTERN, propertyExpected } from "../../../event/content-filter.ts";
import { isObject } from "../../../is-object.ts";
import { utf8Text } from "../../../json/bytes.ts";
import { parseToShow } from "../../../json/parse-exact.ts";
import type { Positions } from "../../../log/positions.ts";
import {
  type FoundOutcome,
  OUTCOME_DESTINATIONS_MAX,
  outcomeNames,
} from "../../../pipeline/search/event-outcomes.ts";
import { type FoundEvent, searchStopReasons } from "../../../pipeline/search/search.ts";
import {
  SEARCH_CURSOR_CHARS_MAX,
  SEARCH_EVENTS_MAX,
  SEARCH_TEXT_CHARS_MAX,
} from "../../../settings/limits.ts";
import {
  component,
  oneOf,
  optionalFlag,
  optionalInteger,
  text,
} from "../../../settings/schema-types.ts";
import { invalidValue } from "../../request/validation.ts";
import { type RequestContext, route } from "../../route.ts";
import { AnyObject, Id, isoTime, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { openCursor, sealCursor } from "./search-cursor.ts";

const LIMIT_DEFAULT = 50;

const searchedText = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: SEARCH_TEXT_CHARS_MAX, description }));

const EventOutcome = component("EventOutcome", {
  destinationId: Type.String(),
  outcome: oneOf(outcomeNames, {
    description:
      "`settled`: delivered, dropped by code, or a dead letter that was replayed or purged since. " +
      "`repeated`: not delivered, because an earlier event has the same `messageId`; see `dedupSeconds` of " +
      "the source. `not-connected`: received while the connection was paused, or before it was made. " +
      "`unknown`: too many dead letters to look through",
  }),
  deadLetterId: Type.Optional(Type.String()),
  reason: Type.Optional(text("Why it is a dead letter, or repeated")),
});

export const searchQuery = {
  from: Type.Optional({ ...Time, description: "Received then or later" }),
  to: Type.Optional({ ...Time, description: "Received before" }),
  sourceId: Type.Optional(Id),
  messageId: searchedText("As the event has it"),
  userId: searchedText("As the event has it"),
  anonymousId: searchedText("As the event has it"),
  event: searchedText("Name of a track event"),
  property: Type.Optional(
    Type.String({
      pattern: PROPERTY_PATTERN,
      "x-expected": propertyExpected(SEARCH_TEXT_CHARS_MAX),
      maxLength: SEARCH_TEXT_CHARS_MAX,
      description:
        "Path and value of a field, such as `properties.plan=pro`, or of one that the settings of its source add now, such as " +
        "`context.geo.country=BE` and `context.isBot=true`",
    }),
  ),
  text: searchedText('A part of its JSON, such as `"plan":"pro"`, or of a value; in any case'),
  refused: optionalFlag("Only events that were refused at ingestion, or only others"),
  destinationId: Type.Optional({ ...Id, description: "Limits `outcomes` to this destination" }),
  outcome: Type.Optional(
    oneOf(outcomeNames, { description: "What became of the event at one of its destinations" }),
  ),
  limit: optionalInteger(1, SEARCH_EVENTS_MAX, { default: LIMIT_DEFAULT }),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: SEARCH_CURSOR_CHARS_MAX,
      description: "Of an earlier answer to the same question: continues where it stopped",
    }),
  ),
};
const SearchQuery = Type.Object(searchQuery);
type SearchQuery = Static<typeof SearchQuery>;
export type SearchCall = RequestContext<string, SearchQuery, unknown>;

const FoundEvents = component("FoundEvents", {
  events: Type.Array(
    Type.Object({
      sourceId: Type.String(),
      messageId: Type.String(),
      receivedAt: Time,
      event: AnyObject,
      refused: Type.Optional(
        text(
          "Why the event was refused at ingestion, so that it is not delivered. Its `event` is as it was sent; of one that is no object, an object with its `value`",
        ),
      ),
      outcomes: Type.Array(EventOutcome, {
        description: `At the destinations that the source is connected to, at most ${OUTCOME_DESTINATIONS_MAX}`,
      }),
    }),
    { description: "The newest first" },
  ),
  stopped: Type.Optional(
    oneOf(searchStopReasons, {
      description:
        "Why the search ended before the oldest event: it found `limit` events, or its answer " +
        "reached its size, or it read its bytes or used its time. Absent at the end",
    }),
  ),
  cursor: Type.Optional(text("Where to go on; absent at the end")),
  reachedAt: Type.Optional({
    ...Time,
    description: "Start of the time that was searched without a gap, unless the clock was set back",
  }),
  hasNewer: optionalFlag(
    "True when events of the time, of any workspace, were not searched, because a newer version of " +
      "pixelmill stored them; absent otherwise",
  ),
});

export const searchRoutes = [
  route("GET /v2/events/search", {
    summary: "Find events that the server still holds, newest first",
    needs: ["events:read"],
    query: searchQuery,
    answer: FoundEvents,
    example: {
      answer: {
        events: [
          {
            sourceId: example.ids.source,
            messageId: example.event.messageId,
            receivedAt: "2026-02-16T01:11:11.586Z",
            event: example.event,
            outcomes: [{ destinationId: example.ids.destination, outcome: "settled" }],
          },
        ],
        stopped: "limit",
        cursor: "pB0v1YkqT3mF9d2Xc7RzWmH5nQ8sL4aJ",
        reachedAt: "2026-02-16T01:11:11.586Z",
      },
    },
    async handle(call) {
      const { deps, workspaceId, query, request, closing } = call;
      const key = await deps.catalog.workspaces.cursorKey(workspaceId);
      const wanted = toSearch(query, key);
      using _permit = deps.limiters.searches.acquire(workspaceId);
      const signal = AbortSignal.any([request.signal, closing]);
      try {
        const isSource = ownSources(call);
        const result = await deps.pipeline.search({ ...wanted, isSource }, signal);
        assert(result.events.length <= wanted.limit, "A search finds at most its limit of events");
        const found = await withOutcomes(call, result.events);
        const { stopped, reachedAt, hasNewer } = result;
        return {
          events: found.map(eventAnswer),
          ...(stopped && { stopped: stopped.by, cursor: sealCursor(stopped.rest, key) }),
          ...(reachedAt !== undefined && { reachedAt: isoTime(reachedAt) }),
          ...(hasNewer && { hasNewer }),
        };
      } catch (error) {
        throw signal.aborted ? new ApiError("unavailable", "The search was aborted") : error;
      }
    },
  }),
] as const;

/**
 * Returns a function that says whether the source with an id belongs to the caller's workspace. If
 * the query names a source, the function accepts only that source.
 */
export function ownSources({
  deps,
  workspaceId,
  query,
}: Pick<SearchCall, "deps" | "workspaceId"> & { query: Pick<SearchQuery, "sourceId"> }) {
  const known = new Map<string, boolean>();
  const isOwn = (id: string) =>
    deps.catalog.live.sourceById(id)?.workspaceId === workspaceId &&
    (query.sourceId === undefined || query.sourceId === id);
  return (id: string): boolean => known.getOrInsertComputed(id, isOwn);
}

export function toSearch(query: SearchQuery, key: Uint8Array) {
  const { from, to, messageId, userId, anonymousId, event, limit, cursor } = query;
  const { property, text, refused } = query;
  return {
    ...(from !== undefined && { from: Date.parse(from) }),
    ...(to !== undefined && { to: Date.parse(to) }),
    ...defined({ messageId, userId, anonymousId, event, property, text }),
    ...(refused !== undefined && { isRefused: refused }),
    ...(cursor !== undefined && { rest: readCursor(cursor, key) }),
    limit: limit ?? LIMIT_DEFAULT,
  };
}

export interface EventWithOutcomes {
  found: FoundEvent;
  outcomes: FoundOutcome[];
}

type OutcomeQuery = { [Key in "destinationId" | "outcome"]?: SearchQuery[Key] | undefined };

/**
 * Adds to each found event its outcomes, only those at the query's destination if the query names
 * one. If the query names an outcome, keeps only events that have it among these outcomes.
 */
export async function withOutcomes(
  { deps, workspaceId, query }: Pick<SearchCall, "deps" | "workspaceId"> & { query: OutcomeQuery },
  events: readonly FoundEvent[],
): Promise<EventWithOutcomes[]> {
  const { destinationId, outcome: wanted } = query;
  const all = await deps.pipeline.outcomes(workspaceId, events);
  const isWanted = (it: FoundOutcome) =>
    destinationId === undefined || it.destinationId === destinationId;
  return events
    .map((found, index) => ({ found, outcomes: all[index]!.filter(isWanted) }))
    .filter(({ outcomes }) => wanted === undefined || outcomes.some((it) => it.outcome === wanted));
}

/**
 * Returns what an answer says about a found event, without the event itself: outcomes, source,
 * message id, time of receipt, and the reason if the server refused the event.
 */
export function aboutEvent({ found, outcomes }: EventWithOutcomes) {
  const { sourceId, messageId, receivedAt, refused } = found;
  return {
    outcomes,
    sourceId,
    messageId,
    receivedAt: isoTime(receivedAt),
    ...defined({ refused }),
  };
}

function eventAnswer(it: EventWithOutcomes) {
  const value = parseToShow(utf8Text(it.found.event.json));
  // A refused event may be any JSON.
  return { ...aboutEvent(it), event: isObject(value) ? value : { value } };
}

function readCursor(cursor: string, key: Uint8Array): Positions {
  const rest = openCursor(cursor, key);
  if (rest !== undefined) return rest;
  throw invalidValue("?cursor", "Expected the cursor of an answer, got another text");
}
