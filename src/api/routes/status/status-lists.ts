import { type Static, Type } from "@sinclair/typebox";
import type { Connection } from "../../../catalog/model.ts";
import { unlessMissing } from "../../../errors.ts";
import { STATUS_ITEMS_MAX } from "../../../settings/limits.ts";
import {
  pageOf,
  type SortKeys,
  searchedListQuery,
  sortBy,
  sortRows,
} from "../../request/list-query.ts";
import { measuredPage } from "../../request/measured-page.ts";
import { readsEvents, route } from "../../route.ts";
import { isoTime, MissingNodes } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { lastReceivedTimes } from "./figure-answers.ts";
import type { StatusDeps } from "./local-status.ts";
import { namedOf } from "./names.ts";
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
  busiestFirst,
  hasSharedState,
  type DestinationState as MeasuredDestination,
  measure,
  measureSources,
  type SourceState,
  urgentDestinationFirst,
  workspaceState,
} from "./workspace-state.ts";

export const destinationKeys = {
  name: ({ name }) => name,
  type: ({ type }) => type,
  delivered: ({ rates }) => rates.delivered,
  pending: ({ lagEvents }) => lagEvents,
  deadLetters: ({ deadLetters }) => deadLetters,
} satisfies SortKeys<MeasuredDestination>;

export const sourceKeys = {
  name: ({ name }) => name,
  received: ({ receivedPerSecond }) => receivedPerSecond,
} satisfies SortKeys<SourceState>;

const total = Type.Integer({ description: "Number of rows that match, on all pages" });

const exampleRow = { ...exampleDestination, transformationName: example.transformation.name };

/**
 * Routes that list sources, destinations and connections with their present state. The server
 * searches, sorts and pages the lists. The permission `events:read` is enough, because the answers
 * contain neither configs nor write keys.
 */
export const statusListRoutes = [
  route("GET /v2/status/destinations", {
    summary: "List destinations with state, rates and last error, most urgent first",
    ...readsEvents,
    query: {
      ...searchedListQuery,
      state: Type.Optional(DestinationState),
      sort: sortBy(destinationKeys, "most urgent first"),
    },
    answer: Type.Object({
      destinations: Type.Array(DestinationRow),
      total,
      states: Type.Optional(
        Type.Record(Type.String(), Type.Integer(), {
          description:
            "Number of destinations by state, of those that match the text. Absent in a list by name, " +
            "for which only the rows of the page are measured",
        }),
      ),
      missingNodes: MissingNodes,
    }),
    example: { answer: { destinations: [exampleRow], total: 1, states: { ok: 1 } } },
    async handle({ deps, workspaceId, query, request: { signal } }) {
      const { rows, total, measured, missingNodes } = await measuredPage(query, {
        ...slicingOf(deps, signal),
        items: deps.catalog.destinations.each(workspaceId),
        isFiltered: query.state !== undefined,
        all: () => wholeState(deps, workspaceId, "destinations", signal),
        async measure(some) {
          const found = await measure(deps, workspaceId, some, signal);
          return { states: found.destinations, missingNodes: found.missingNodes };
        },
        arrange(all) {
          const matches = all.filter(({ state }) => (query.state ?? state) === state);
          return sortRows(matches.sort(urgentDestinationFirst), query.sort, destinationKeys);
        },
      });
      return {
        destinations: rows.map((it) => rowOf(deps, workspaceId, it)),
        total,
        ...(measured && { states: countBy(measured) }),
        ...missingOf(missingNodes),
      };
    },
  }),

  route("GET /v2/status/destinations/{id}", {
    summary: "Tell the state, rates and last error of one destination, and its sources",
    ...readsEvents,
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
    async handle({ deps, workspaceId, params: { id }, request: { signal } }) {
      const { catalog } = deps;
      const stored = catalog.destinations.get(workspaceId, id);
      const found = await measure(deps, workspaceId, [stored], signal);
      const sources: Static<typeof Named>[] = [];
      const add = ({ sourceId }: Connection) =>
        sources.push(...catalog.sources.withIds(workspaceId, [sourceId]).map(namedOf));
      const connections = Iterator.from(
        catalog.connections.eachOf(workspaceId, { destinationId: id }),
      );
      await deps.limiters.listSlices.each(connections.take(STATUS_ITEMS_MAX), add, signal);
      return {
        destination: rowOf(deps, workspaceId, found.destinations[0]!),
        sources,
        ...missingOf(found.missingNodes),
      };
    },
  }),

  route("GET /v2/status/sources", {
    summary: "List sources with their rates and last event, the busiest first",
    ...readsEvents,
    query: { ...searchedListQuery, sort: sortBy(sourceKeys, "the busiest first") },
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
    async handle({ deps, workspaceId, query, request: { signal } }) {
      const { rows, total, missingNodes } = await measuredPage(query, {
        ...slicingOf(deps, signal),
        items: deps.catalog.sources.each(workspaceId),
        all: () => wholeState(deps, workspaceId, "sources", signal),
        measure: (some) => measureSources(deps, workspaceId, some, signal),
        arrange: (all) => sortRows(all.toSorted(busiestFirst), query.sort, sourceKeys),
      });
      const last = await lastReceivedTimes(deps, workspaceId, rows, signal);
      return {
        sources: rows.map((it) => ({ ...it, ...last.times.get(it.id) })),
        total,
        ...missingOf([...new Set([...missingNodes, ...last.missingNodes])]),
      };
    },
  }),

  route("GET /v2/status/connections", {
    summary: "List connections with their rates; those of failing destinations come first",
    ...readsEvents,
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
    async handle({ deps, workspaceId, query, request: { signal } }) {
      const state = await workspaceState(deps, workspaceId, signal);
      const destinations = new Map(state.destinations.map((it) => [it.id, it]));
      const sources = new Map(state.sources.map((it) => [it.id, it]));
      const text = query.text?.trim().toLowerCase() ?? "";
      const hasText = (name: string) => name.toLowerCase().includes(text);
      const matches = state.connections.filter(
        ({ sourceId, destinationId }) =>
          hasText(sources.get(sourceId)?.name ?? sourceId) ||
          hasText(destinations.get(destinationId)?.name ?? destinationId),
      );
      return {
        connections: pageOf(matches, query).map((connection) => {
          const { sourceId, destinationId, rates } = connection;
          const destination = destinations.get(destinationId);
          return {
            ...connection,
            sourceName: sources.get(sourceId)?.name ?? sourceId,
            destinationName: destination?.name ?? destinationId,
            destinationState: destination?.state ?? "unknown",
            rejecting: destination?.rejecting === true && rates.failed > 0,
            lagEvents: destination?.lagEvents ?? 0,
            lagSeconds: destination?.lagSeconds ?? 0,
          };
        }),
        total: matches.length,
        ...missingOf(state.missingNodes),
      };
    },
  }),
] as const;

/**
 * Returns the states of all sources or destinations from a workspace's shared state. Returns
 * undefined if the workspace has no shared state, or more than `STATUS_ITEMS_MAX` items of one
 * kind.
 */
async function wholeState<Kind extends "sources" | "destinations">(
  deps: StatusDeps,
  workspaceId: string,
  kind: Kind,
  signal: AbortSignal,
) {
  if (!hasSharedState(deps, workspaceId)) return undefined;
  const state = await workspaceState(deps, workspaceId, signal);
  const isWhole = Object.values(state.totals).every((total) => total <= STATUS_ITEMS_MAX);
  return isWhole ? { states: state[kind], missingNodes: state.missingNodes } : undefined;
}

const missingOf = (missingNodes: string[]) => (missingNodes.length > 0 ? { missingNodes } : {});

const slicingOf = ({ limiters }: StatusDeps, signal: AbortSignal) => ({
  slices: limiters.listSlices,
  signal,
});

function countBy(destinations: readonly MeasuredDestination[]): Record<string, number> {
  const groups = Map.groupBy(destinations, ({ state }) => state);
  return Object.fromEntries(groups.entries().map(([state, of]) => [state, of.length]));
}

function rowOf(
  { pipeline, catalog }: StatusDeps,
  workspaceId: string,
  destination: MeasuredDestination,
): Static<typeof DestinationRow> {
  const { id, transformationId, since, reason, deadLetters } = destination;
  const linked = unlessMissing(() =>
    catalog.code.publishedRevision(workspaceId, "transformation", transformationId ?? ""),
  );
  const [latest] =
    deadLetters === 0
      ? []
      : pipeline.deadLetters
          .groups(workspaceId, id)
          .toSorted((one, other) => other.lastAt - one.lastAt);
  const lastError =
    since !== undefined && reason !== undefined
      ? { reason, at: since, stage: "deliver" as const }
      : latest && { reason: latest.reason, at: isoTime(latest.lastAt), stage: latest.stage };
  return {
    ...destination,
    ...(linked && { transformationName: linked.revision.name }),
    ...(lastError && { lastError }),
  };
}
