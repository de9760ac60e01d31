import { type Static, Type } from "@sinclair/typebox";
import { matching, pageOf, searchedListQuery, sortBy, sortRows } from "../../request/list-query.ts";
import { route } from "../../route.ts";
import { isoTime, MissingNodes } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { lastReceivedTimes } from "./figure-answers.ts";
import {
  busiestFirst,
  destinationKeys,
  destinationSorts,
  sourceKeys,
  sourceSorts,
  urgentConnectionFirst,
  urgentDestinationFirst,
} from "./list-order.ts";
import { noRates, type StatusDeps } from "./node-status.ts";
import {
  ConnectionRow,
  DestinationRow,
  DestinationState,
  exampleConnection,
  exampleDestination,
  exampleSource,
  Named,
  SourceRow,
} from "./status-schema.ts";
import {
  delivererOf,
  type DestinationState as MeasuredDestination,
  type WorkspaceState,
  workspaceState,
} from "./workspace-state.ts";

const total = Type.Integer({ description: "Number of rows that match, on all pages" });

const exampleRow = { ...exampleDestination, transformationName: example.transformation.name };

/**
 * Lists of sources, destinations and connections with their current state, searched, sorted and
 * paged by the server. They need `events:read`, and contain no config and no write key.
 */
export const statusListRoutes = [
  route("GET /v2/status/destinations", {
    summary: "List destinations with state, rates and last error, most urgent first",
    needs: ["events:read"],
    answersFigures: true,
    query: {
      ...searchedListQuery,
      state: Type.Optional(DestinationState),
      sort: sortBy(destinationSorts, "most urgent first"),
    },
    answer: Type.Object({
      destinations: Type.Array(DestinationRow),
      total,
      states: Type.Record(Type.String(), Type.Integer(), {
        description: "Number of all destinations by state",
      }),
      missingNodes: MissingNodes,
    }),
    example: { answer: { destinations: [exampleRow], total: 1, states: { ok: 1 } } },
    async handle({ deps, workspaceId, query }) {
      const state = await workspaceState(deps, workspaceId);
      const { destinations } = state;
      const matches = destinations
        .filter(matching(query.text))
        .filter((it) => query.state === undefined || it.state === query.state)
        .sort(urgentDestinationFirst);
      sortRows(matches, query.sort, destinationKeys);
      return {
        destinations: pageOf(matches, query).map((it) => rowOf(deps, workspaceId, state, it)),
        total: matches.length,
        states: countBy(destinations),
        ...missingOf(state),
      };
    },
  }),

  route("GET /v2/status/destinations/{id}", {
    summary: "Tell the state, rates and last error of one destination, and its sources",
    needs: ["events:read"],
    answersFigures: true,
    answer: Type.Object({
      destination: DestinationRow,
      sources: Type.Array(Named),
      missingNodes: MissingNodes,
    }),
    example: {
      params: { id: example.destination.id },
      answer: {
        destination: exampleRow,
        sources: [{ id: exampleSource.id, name: exampleSource.name }],
      },
    },
    async handle({ deps, workspaceId, params: { id } }) {
      const stored = deps.catalog.destinations.get(workspaceId, id);
      const { name, type, enabled } = stored;
      const state = await workspaceState(deps, workspaceId);
      const connected = new Set(
        state.connections.filter((it) => it.destinationId === id).map(({ sourceId }) => sourceId),
      );
      // A destination beyond `STATUS_ITEMS_MAX` was not measured.
      const found = state.destinations.find((it) => it.id === id) ?? {
        id,
        name,
        type,
        deliveredBy: delivererOf(stored),
        enabled,
        state: "unknown" as const,
        lagEvents: 0,
        lagSeconds: 0,
        rates: noRates,
        rejecting: false,
        deadLetters: 0,
      };
      return {
        destination: rowOf(deps, workspaceId, state, found),
        sources: state.sources.filter((it) => connected.has(it.id)).map(namedOf),
        ...missingOf(state),
      };
    },
  }),

  route("GET /v2/status/sources", {
    summary: "List sources with their rates and last event, the busiest first",
    needs: ["events:read"],
    answersFigures: true,
    query: { ...searchedListQuery, sort: sortBy(sourceSorts, "the busiest first") },
    answer: Type.Object({
      sources: Type.Array(SourceRow),
      total,
      missingNodes: MissingNodes,
    }),
    example: {
      answer: {
        sources: [{ ...exampleSource, lastReceivedAt: example.deadLetterGroup.lastAt }],
        total: 1,
      },
    },
    async handle({ deps, workspaceId, query, request }) {
      const state = await workspaceState(deps, workspaceId);
      const matches = state.sources.filter(matching(query.text)).sort(busiestFirst);
      sortRows(matches, query.sort, sourceKeys);
      const page = pageOf(matches, query);
      const last = await lastReceivedTimes(deps, workspaceId, page, request.signal);
      return {
        sources: page.map((it) => ({ ...it, ...last.get(it.id) })),
        total: matches.length,
        ...missingOf(state),
      };
    },
  }),

  route("GET /v2/status/connections", {
    summary: "List connections with their rates; those of failing destinations come first",
    needs: ["events:read"],
    answersFigures: true,
    query: searchedListQuery,
    answer: Type.Object({
      connections: Type.Array(ConnectionRow),
      total,
      missingNodes: MissingNodes,
    }),
    example: {
      answer: {
        connections: [
          {
            ...exampleConnection,
            sourceName: exampleSource.name,
            destinationName: exampleDestination.name,
            destinationState: "ok",
            rejecting: false,
            lagEvents: 3,
            lagSeconds: 0.2,
          },
        ],
        total: 1,
      },
    },
    async handle({ deps, workspaceId, query }) {
      const state = await workspaceState(deps, workspaceId);
      const rows = connectionRows(state);
      const text = query.text?.trim().toLowerCase() ?? "";
      const matches = rows.filter(({ sourceName, destinationName }) =>
        [sourceName, destinationName].some((name) => name.toLowerCase().includes(text)),
      );
      return { connections: pageOf(matches, query), total: matches.length, ...missingOf(state) };
    },
  }),
] as const;

const namedOf = ({ id, name }: { id: string; name: string }) => ({ id, name });

const missingOf = ({ missingNodes }: WorkspaceState) =>
  missingNodes.length > 0 ? { missingNodes } : {};

function countBy(destinations: readonly MeasuredDestination[]): Record<string, number> {
  const groups = Map.groupBy(destinations, ({ state }) => state);
  return Object.fromEntries(groups.entries().map(([state, of]) => [state, of.length]));
}

function rowOf(
  { pipeline }: StatusDeps,
  workspaceId: string,
  { code }: WorkspaceState,
  destination: MeasuredDestination,
): Static<typeof DestinationRow> {
  const { id, transformationId, since, reason, deadLetters } = destination;
  const linked = code.find((it) => it.id === transformationId);
  const [latest] =
    deadLetters === 0
      ? []
      : pipeline.deadLetters
          .groups(workspaceId, id)
          .toSorted((one, other) => other.lastAt - one.lastAt);
  const lastError =
    since !== undefined && reason !== undefined
      ? { reason, at: since }
      : latest && { reason: latest.reason, at: isoTime(latest.lastAt) };
  return {
    ...destination,
    ...(linked && { transformationName: linked.name }),
    ...(lastError && { lastError }),
  };
}

function connectionRows(state: WorkspaceState): Static<typeof ConnectionRow>[] {
  const destinations = new Map(state.destinations.map((it) => [it.id, it]));
  const sources = new Map(state.sources.map((it) => [it.id, it.name]));
  return state.connections.toSorted(urgentConnectionFirst(state.destinations)).map((it) => {
    const destination = destinations.get(it.destinationId);
    return {
      ...it,
      sourceName: sources.get(it.sourceId) ?? it.sourceId,
      destinationName: destination?.name ?? it.destinationId,
      destinationState: destination?.state ?? "unknown",
      rejecting: destination?.rejecting === true && it.rates.failed > 0,
      lagEvents: destination?.lagEvents ?? 0,
      lagSeconds: destination?.lagSeconds ?? 0,
    };
  });
}
