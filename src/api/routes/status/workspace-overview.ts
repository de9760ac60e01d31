import { OVERVIEW_CONNECTIONS_MAX, OVERVIEW_ITEMS_MAX } from "../../../settings/limits.ts";
import { alertProblems } from "./alert-problems.ts";
import { busiestFirst } from "./list-order.ts";
import type { StatusDeps } from "./local-status.ts";
import { problemsOf, withReason } from "./problems.ts";
import {
  type DestinationState,
  type SourceState,
  urgentDestinationFirst,
  workspaceState,
} from "./workspace-state.ts";

/**
 * Returns the data of the console's overview: the worst problems, sums over the whole workspace,
 * and the sources, destinations and connections that fail or have the highest rates.
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
  const sum = (of: (it: DestinationState) => number) =>
    destinations.reduce((total, it) => total + of(it), 0);
  return {
    rates: {
      received: sources.reduce((total, it) => total + it.receivedPerSecond, 0),
      delivered: sum(({ rates }) => rates.delivered),
      dropped: sum(({ rates }) => rates.dropped),
      failed: sum(({ rates }) => rates.failed),
    },
    lagEvents: sum(({ lagEvents }) => lagEvents),
    lagSeconds: destinations.reduce((longest, it) => Math.max(longest, it.lagSeconds), 0),
  };
}
