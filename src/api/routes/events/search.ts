import { type Static, Type } from "@sinclair/typebox";
import { assert } from "../../../assert.ts";
import { ApiError } from "../../../errors.ts";
import { uuidBytes, uuidText } from "../../../event/uuid.ts";
import type { Positions } from "../../../log/positions.ts";
import type { FoundEvent, SearchResult } from "../../../pipeline/search/search.ts";
import {
  SEARCH_CURSOR_CHARS_MAX,
  SEARCH_EVENTS_MAX,
  SEARCH_TEXT_CHARS_MAX,
} from "../../../settings/limits.ts";
import { validationError } from "../../request/validation.ts";
import { type RequestContext, route } from "../../route.ts";
import { AnyObject, Id, isoTime, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { openCursor, sealCursor } from "./search-cursor.ts";

const LIMIT_DEFAULT = 50;

const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: SEARCH_TEXT_CHARS_MAX, description }));

const searchQuery = {
  from: Type.Optional({ ...Time, description: "Received then or later" }),
  to: Type.Optional({ ...Time, description: "Received before" }),
  sourceId: Type.Optional(Id),
  messageId: text("A UUID"),
  userId: text("As the event has it"),
  anonymousId: text("As the event has it"),
  event: text("Name of a track event"),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: SEARCH_EVENTS_MAX, default: LIMIT_DEFAULT }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: SEARCH_CURSOR_CHARS_MAX,
      description: "Of an earlier answer to the same question: goes on where that stopped",
    }),
  ),
};
const SearchQuery = Type.Object(searchQuery);
type SearchQuery = Static<typeof SearchQuery>;

const FoundEvents = Type.Object(
  {
    events: Type.Array(
      Type.Object({
        sourceId: Type.String(),
        messageId: Type.String(),
        receivedAt: Time,
        event: AnyObject,
      }),
      { description: "The newest first" },
    ),
    stopped: Type.Optional(
      Type.Union(
        ["limit", "size", "bytes", "time"].map((by) => Type.Literal(by)),
        {
          description:
            "Why the search ended before the oldest event: it found `limit` events, or its answer " +
            "reached its size, or it read its bytes or used its time. Absent at the end",
        },
      ),
    ),
    cursor: Type.Optional(Type.String({ description: "Where to go on; absent at the end" })),
    reachedAt: Type.Optional({
      ...Time,
      description: "All that came since then was looked through, unless the clock was set back",
    }),
  },
  { $id: "FoundEvents" },
);

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
        return searchAnswer(result, key);
      } catch (error) {
        throw signal.aborted ? new ApiError("unavailable", "The search was broken off") : error;
      }
    },
  }),
] as const;

/**
 * Returns a function that tells whether a source id belongs to the caller's workspace. When the
 * query names a source, the function accepts only this source.
 */
function ownSources({ deps, workspaceId, query }: RequestContext<string, SearchQuery, unknown>) {
  const known = new Map<string, boolean>();
  return (id: string): boolean => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const isOwn =
      deps.catalog.live.sourceById(id)?.workspaceId === workspaceId &&
      (query.sourceId === undefined || query.sourceId === id);
    known.set(id, isOwn);
    return isOwn;
  };
}

function toSearch(query: SearchQuery, key: Uint8Array) {
  const { from, to, messageId, userId, anonymousId, event, limit, cursor } = query;
  const id = messageId === undefined ? undefined : uuidBytes(messageId);
  if (messageId !== undefined && id === undefined) {
    throw validationError([{ path: "/messageId", message: "Expected a UUID, got another text" }]);
  }
  return {
    ...(from !== undefined && { from: Date.parse(from) }),
    ...(to !== undefined && { to: Date.parse(to) }),
    ...(id !== undefined && { messageId: id }),
    ...(userId !== undefined && { userId }),
    ...(anonymousId !== undefined && { anonymousId }),
    ...(event !== undefined && { event }),
    ...(cursor !== undefined && { rest: readCursor(cursor, key) }),
    limit: limit ?? LIMIT_DEFAULT,
  };
}

function searchAnswer({ events, stopped, reachedAt }: SearchResult, key: Uint8Array) {
  return {
    events: events.map(eventAnswer),
    ...(stopped !== undefined && { stopped: stopped.by, cursor: sealCursor(stopped.rest, key) }),
    ...(reachedAt !== undefined && { reachedAt: isoTime(reachedAt) }),
  };
}

function eventAnswer({ sourceId, messageId, receivedAt, event }: FoundEvent) {
  return {
    sourceId,
    messageId: uuidText(messageId),
    receivedAt: isoTime(receivedAt),
    event: JSON.parse(Buffer.from(event.json).toString()) as Record<string, unknown>,
  };
}

function readCursor(cursor: string, key: Uint8Array): Positions {
  const rest: unknown = openCursor(cursor, key);
  if (isPositions(rest)) return rest;
  throw validationError([
    { path: "/cursor", message: "Expected the cursor of an answer, got another text" },
  ]);
}

function isPositions(value: unknown): value is Positions {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((it) => Number.isSafeInteger(it) && it >= 0);
}
