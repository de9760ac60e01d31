import { utf8Text } from "../../../json/bytes.ts";
import { SEARCH_EVENTS_MAX, SEARCH_EXPORT_EVENTS_MAX } from "../../../settings/limits.ts";
import { text } from "../../../settings/schema-types.ts";
import { linesResponse } from "../../response/list-stream.ts";
import { route } from "../../route.ts";
import * as example from "../../schema/examples.ts";
import {
  aboutEvent,
  type EventWithOutcomes,
  ownSources,
  type SearchCall,
  searchQuery,
  toSearch,
  withOutcomes,
} from "./search.ts";
import { sealCursor } from "./search-cursor.ts";

/**
 * Maximum number of searches for one export. Each search reads a limited number of bytes for a
 * limited time. If events remain after the last search, the export ends with a cursor to continue.
 */
const SEARCHES_OF_EXPORT_MAX = 100;

const { limit: _, ...exportQuery } = searchQuery;

export const searchExportRoutes = [
  route("GET /v2/events/search/export", {
    summary: `Export events that the server still holds as lines of JSON, newest first, at most ${SEARCH_EXPORT_EVENTS_MAX}`,
    needs: ["events:read"],
    query: exportQuery,
    answer: text(
      "One event a line, as `GET /v2/events/search` has them. After a bound, the last line is an " +
        "object with `cursor` alone: where to go on",
    ),
    media: "application/x-ndjson",
    example: {
      answer: `${JSON.stringify({
        sourceId: example.ids.source,
        messageId: example.event.messageId,
        receivedAt: "2026-02-16T01:11:11.586Z",
        event: example.event,
        outcomes: [],
      })}\n`,
    },
    async handle(call) {
      const { deps, workspaceId } = call;
      const key = await deps.catalog.workspaces.cursorKey(workspaceId);
      return exportEvents(call, key);
    },
  }),
] as const;

/**
 * Responds with matching events as lines of JSON. Starts the next search only when the client has
 * read the lines of the search before it.
 */
function exportEvents(call: SearchCall, key: Uint8Array): Response {
  const { deps, workspaceId, query, request, closing } = call;
  const isSource = ownSources(call);
  let wanted = { ...toSearch(query, key), limit: SEARCH_EVENTS_MAX, isSource };
  const aborted = new AbortController();
  const signal = AbortSignal.any([request.signal, closing, aborted.signal]);
  const resources = new DisposableStack();
  resources.use(deps.limiters.searches.acquire(workspaceId));
  let searches = 0;
  let count = 0;
  resources.defer(() => aborted.abort());
  const nextPart = async () => {
    const { events, stopped } = await deps.pipeline.search(wanted, signal);
    const lines = (await withOutcomes(call, events)).map(lineOf);
    searches += 1;
    count += lines.length;
    const isBounded = count >= SEARCH_EXPORT_EVENTS_MAX || searches >= SEARCHES_OF_EXPORT_MAX;
    if (stopped !== undefined && isBounded) {
      lines.push(`${JSON.stringify({ cursor: sealCursor(stopped.rest, key) })}\n`);
    }
    const done = stopped === undefined || isBounded;
    if (!done) wanted = { ...wanted, rest: stopped.rest };
    return { text: lines.join(""), done };
  };
  return linesResponse("events.jsonl", nextPart, resources);
}

/**
 * Returns a found event as a line of JSON. Copies the event's JSON text, which has no line breaks,
 * instead of parsing it, which would round long numbers.
 */
function lineOf(it: EventWithOutcomes): string {
  const json = utf8Text(it.found.event.json);
  // A refused event may be any JSON.
  const event = /^\s*\{/.test(json) ? json : `{"value":${json}}`;
  return `${JSON.stringify(aboutEvent(it)).slice(0, -1)},"event":${event}}\n`;
}
