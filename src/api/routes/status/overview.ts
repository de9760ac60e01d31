import { type Static, Type } from "@sinclair/typebox";
import { OVERVIEW_CONNECTIONS_MAX, OVERVIEW_ITEMS_MAX } from "../../../settings/limits.ts";
import { component, text } from "../../../settings/schema-types.ts";
import { readsEvents, route } from "../../route.ts";
import { isoTime, MissingNodes, paged, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { lastHour } from "./figure-answers.ts";
import { type StatusDeps, sumRates } from "./local-status.ts";
import { workspaceSuspensions } from "./node-status.ts";
import { alertProblems, Problem, problemsOf, withReason } from "./problems.ts";
import {
  ConnectionStatus,
  DestinationStatus,
  exampleConnection,
  exampleDestination,
  exampleRates,
  exampleSource,
  LinkedTransformation,
  Rates,
  SourceStatus,
} from "./status-schema.ts";
import {
  busiestFirst,
  type DestinationState,
  type SourceState,
  urgentDestinationFirst,
  workspaceState,
} from "./workspace-state.ts";

const Overview = Type.Object(
  {
    sources: Type.Array(SourceStatus),
    transformations: Type.Array(LinkedTransformation, {
      description: "Those that a destination has",
    }),
    destinations: Type.Array(DestinationStatus),
    connections: Type.Array(ConnectionStatus),
    totals: Type.Object({
      sources: Type.Integer(),
      destinations: Type.Integer(),
      connections: Type.Integer(),
      deadLetters: Type.Integer(),
      problems: Type.Integer(),
      rates: Rates,
      lagEvents: Type.Integer(),
      lagSeconds: Type.Number({ description: "Age of the oldest event that has not settled" }),
    }),
    problems: Type.Array(Problem, { description: "Worst first" }),
    missingNodes: MissingNodes,
  },
  {
    $id: "Overview",
    description: `The most urgent ${OVERVIEW_ITEMS_MAX} of each kind; totals are of the whole workspace`,
  },
);

const Minute = component("Minute", {
  at: { ...Time, description: "When the minute began" },
  delivered: Type.Integer(),
  dropped: Type.Integer(),
  failed: Type.Integer({ description: "Became dead letters" }),
  retried: Type.Integer({ description: "Attempts that failed and are made again" }),
  attempts: Type.Integer(),
  p50Ms: Type.Optional(Type.Integer({ description: "Of the attempts' times, rounded up" })),
  p99Ms: Type.Optional(Type.Integer()),
});

const Suspension = component("Suspension", {
  transformationVersionId: Type.String(),
  name: Type.String(),
  until: Time,
  reason: text("The last error of the code"),
});

const { id } = example.destination;

export const overviewRoutes = [
  route("GET /v2/suspensions", {
    summary: "List transformations that are not run for a while, because they only fail",
    aliases: ["/suspensions"],
    ...readsEvents,
    answer: Type.Object({
      ...paged("suspensions", Suspension).properties,
      missingNodes: MissingNodes,
    }),
    example: { answer: { suspensions: [example.suspension], paging: { total: 1 } } },
    async handle({ deps, workspaceId }) {
      const { suspensions, missingNodes } = await workspaceSuspensions(deps, workspaceId);
      return {
        suspensions: suspensions.map(({ until, ...it }) => ({ ...it, until: isoTime(until) })),
        paging: { total: suspensions.length },
        ...(missingNodes.length > 0 && { missingNodes }),
      };
    },
  }),

  route("GET /v2/overview", {
    summary: "Tell what sources, code and destinations do now, and what needs a person",
    ...readsEvents,
    answer: Overview,
    example: {
      answer: {
        sources: [exampleSource],
        transformations: [
          {
            id: example.ids.transformation,
            versionId: example.ids.transformationVersion,
            name: example.transformation.name,
            language: "javascript",
          },
        ],
        destinations: [exampleDestination],
        connections: [exampleConnection],
        totals: {
          sources: 1,
          destinations: 1,
          connections: 1,
          deadLetters: 1,
          problems: 1,
          rates: exampleRates,
          lagEvents: 3,
          lagSeconds: 0.2,
        },
        problems: [
          {
            kind: "dead-letters",
            message: "Warehouse hook has 1 dead letter",
            destinationId: id,
            count: 1,
          },
        ],
      },
    },
    handle: ({ deps, workspaceId }): Promise<Static<typeof Overview>> =>
      workspaceOverview(deps, workspaceId),
  }),

  route("GET /v2/destinations/{id}/history", {
    summary: "Tell what a destination did in each minute of the last hour",
    ...readsEvents,
    answer: Type.Object({
      minutes: Type.Array(Minute, { description: "Oldest first; the last one is incomplete" }),
      missingNodes: MissingNodes,
    }),
    example: {
      params: { id },
      answer: {
        minutes: [
          {
            at: "2026-02-16T01:11:00.000Z",
            delivered: 720,
            dropped: 30,
            failed: 0,
            retried: 1,
            attempts: 721,
            p50Ms: 18,
            p99Ms: 87,
          },
        ],
      },
    },
    async handle({ deps, workspaceId, params: { id } }) {
      const { minutes, missingNodes } = await lastHour(deps, workspaceId, id);
      return { minutes, ...(missingNodes.length > 0 && { missingNodes }) };
    },
  }),
] as const;

/**
 * Returns the data of the console's overview: the worst problems, sums over the whole workspace,
 * the sources with the highest rates, the most urgent destinations, and the connections between
 * them.
 */
export async function workspaceOverview(deps: StatusDeps, workspaceId: string) {
  const state = await workspaceState(deps, workspaceId);
  const { sources, code, destinations, connections, totals, missingNodes } = state;
  const problems = problemsOf(state, alertProblems(deps, workspaceId));
  const shownSources = mostUrgent(sources, busiestFirst);
  const shown = mostUrgent(destinations, urgentDestinationFirst);
  const linked = new Set(shown.map(({ transformationId }) => transformationId));
  const ids = new Set([...shownSources, ...shown].map(({ id }) => id));
  return {
    sources: shownSources,
    transformations: code.filter(({ id }) => linked.has(id)),
    destinations: shown,
    connections: connections
      .filter((it) => ids.has(it.sourceId) && ids.has(it.destinationId))
      .slice(0, OVERVIEW_CONNECTIONS_MAX),
    totals: {
      ...totals,
      deadLetters: deps.pipeline.deadLetters.count(workspaceId),
      problems: problems.length,
      ...sumsOf(sources, destinations),
    },
    problems: problems.slice(0, OVERVIEW_ITEMS_MAX).map((problem) => {
      const { kind, destinationId } = problem;
      if (kind !== "dead-letters") return problem;
      return withReason(problem, deps.pipeline.deadLetters.groups(workspaceId, destinationId));
    }),
    ...(missingNodes.length > 0 && { missingNodes }),
  };
}

function mostUrgent<T>(items: readonly T[], compare: (one: T, other: T) => number): T[] {
  return items.toSorted(compare).slice(0, OVERVIEW_ITEMS_MAX);
}

function sumsOf(sources: readonly SourceState[], destinations: readonly DestinationState[]) {
  const received = sources.reduce((total, it) => total + it.receivedPerSecond, 0);
  return {
    rates: { ...sumRates(destinations.map(({ rates }) => rates)), received },
    lagEvents: destinations.reduce((total, it) => total + it.lagEvents, 0),
    lagSeconds: destinations.reduce((longest, it) => Math.max(longest, it.lagSeconds), 0),
  };
}
