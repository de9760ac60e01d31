import type { Connection, Destination, Source } from "../../../catalog/model.ts";
import type { Rates } from "../../../pipeline/monitoring/lane-history.ts";
import type { RevisionSuspension } from "../../deps.ts";
import { isoTime } from "../../schema/common.ts";
import { firstItems } from "./first-items.ts";
import {
  type LaneSummary,
  noRates,
  type StatusDeps,
  type WorkspaceStatus,
  workspaceStatus,
} from "./node-status.ts";

/**
 * States of a destination, most urgent first. When several states apply, the overview shows the
 * first of them.
 */
export const destinationStates = [
  "down",
  "failing",
  "suspended",
  "waiting",
  "paused",
  "unknown",
  "unconnected",
  "ok",
] as const;

export interface OverviewProblem {
  kind:
    | "not-ready"
    | "warning"
    | "node-missing"
    | "destination-down"
    | "destination-failing"
    | "suspended"
    | "dead-letters";
  message: string;
  destinationId?: string;
  transformationId?: string;
  count?: number;
  since?: string;
}

interface LinkedTransformation {
  id: string;
  versionId: string;
  name: string;
  language: string;
  suspended?: { until: string; reason: string };
}

/**
 * Returns the state and event rates of a workspace's sources, transformations and destinations, and
 * its problems.
 */
export async function workspaceOverview(deps: StatusDeps, workspaceId: string) {
  const { catalog, pipeline } = deps;
  const { missingNodes, ...activity } = await workspaceStatus(deps, workspaceId);
  const sources = firstItems((page) => catalog.sources.list(workspaceId, page));
  const destinations = firstItems((page) => catalog.destinations.list(workspaceId, page));
  const connections = firstItems((page) => catalog.connections.list(workspaceId, page));
  const { code, codeOf } = linkedTransformations(deps, activity, destinations.items);
  const shownConnections = connections.items.map((it) => connectionOf(it, activity));
  const shownDestinations = destinations.items.map((it) =>
    destinationOf(deps, it, {
      lane: activity.lanes[it.id],
      code: codeOf.get(it.id),
      isAllKnown: missingNodes.length === 0,
    }),
  );
  return {
    sources: sources.items.map((it) => sourceOf(it, shownConnections)),
    transformations: code,
    destinations: shownDestinations,
    connections: shownConnections,
    totals: {
      sources: sources.total,
      destinations: destinations.total,
      connections: connections.total,
      deadLetters: pipeline.deadLetters.count(workspaceId),
    },
    problems: [
      ...missingNodes.map(
        (id): OverviewProblem => ({ kind: "node-missing", message: missing(id) }),
      ),
      ...problemsOf(activity, shownDestinations, code),
    ],
    ...(missingNodes.length > 0 && { missingNodes }),
  };
}

const missing = (id: string) => `Node ${id} does not answer: what it does is not in these figures`;

/** Returns the transformations that are linked to the destinations, each once. */
function linkedTransformations(
  deps: StatusDeps,
  activity: WorkspaceStatus,
  destinations: readonly Destination[],
) {
  const { catalog } = deps;
  const suspended = new Map(activity.suspensions.map((it) => [it.transformationVersionId, it]));
  const known = new Map<string, LinkedTransformation>();
  const codeOf = new Map<string, LinkedTransformation>();
  for (const { id: destinationId, workspaceId } of destinations) {
    const id = catalog.code.linkedTransformation(workspaceId, destinationId);
    if (id === undefined) continue;
    const shown = known.get(id) ?? linkedTransformation(deps, workspaceId, id, suspended);
    known.set(id, shown);
    codeOf.set(destinationId, shown);
  }
  return { code: [...known.values()], codeOf };
}

function linkedTransformation(
  { catalog }: StatusDeps,
  workspaceId: string,
  id: string,
  suspended: ReadonlyMap<string, RevisionSuspension>,
): LinkedTransformation {
  const { revision } = catalog.code.publishedRevision(workspaceId, "transformation", id);
  const { versionId, name, language } = revision;
  const suspension = suspended.get(versionId);
  return {
    id,
    versionId,
    name,
    language,
    ...(suspension && {
      suspended: { until: isoTime(suspension.until), reason: suspension.reason },
    }),
  };
}

function sourceOf(
  { id, name, enabled }: Source,
  connections: readonly { sourceId: string; rates: Rates }[],
) {
  // Each connected destination counts all events of the source. The highest rate is the most
  // current one: that destination lags least.
  const received = connections
    .filter((it) => it.sourceId === id)
    .map(({ rates }) => rates.received);
  return { id, name, enabled, receivedPerSecond: Math.max(0, ...received) };
}

function connectionOf(
  { id, sourceId, destinationId, enabled }: Connection,
  { connections }: WorkspaceStatus,
) {
  return { id, sourceId, destinationId, enabled, rates: connections[id] ?? noRates };
}

interface DestinationContext {
  lane: LaneSummary | undefined;
  code: LinkedTransformation | undefined;
  /** Whether all nodes of the cluster reported the state of their deliveries. */
  isAllKnown: boolean;
}

function destinationOf(
  { pipeline }: StatusDeps,
  { id, workspaceId, name, type, enabled }: Destination,
  known: DestinationContext,
) {
  const { lane, code } = known;
  const { failure, lagEvents = 0, lagSeconds = 0 } = lane ?? {};
  return {
    id,
    name,
    type,
    enabled,
    ...(code && { transformationId: code.id }),
    state: stateOf(enabled, known),
    ...(failure && { since: isoTime(failure.since), reason: failure.reason }),
    lagEvents,
    lagSeconds,
    rates: lane?.rates ?? noRates,
    deadLetters: pipeline.deadLetters.count(workspaceId, { destinationId: id }),
  };
}

function stateOf(
  enabled: boolean,
  { lane, code, isAllKnown }: DestinationContext,
): (typeof destinationStates)[number] {
  if (!enabled) return "paused";
  if (lane === undefined) return isAllKnown ? "unconnected" : "unknown";
  if (lane.failure?.isDown) return "down";
  if (lane.failure) return "failing";
  if (code?.suspended) return "suspended";
  return lane.isWaiting ? "waiting" : "ok";
}

function problemsOf(
  { troubles, warnings }: WorkspaceStatus,
  destinations: readonly ReturnType<typeof destinationOf>[],
  code: readonly LinkedTransformation[],
): OverviewProblem[] {
  return [
    ...troubles.map((message): OverviewProblem => ({ kind: "not-ready", message })),
    ...destinations.flatMap(destinationProblems),
    ...code.flatMap(({ id, name, suspended }): OverviewProblem[] => {
      if (suspended === undefined) return [];
      const message = `${name} only fails and is not run for a while: ${suspended.reason}`;
      return [{ kind: "suspended", message, transformationId: id }];
    }),
    ...warnings.map((message): OverviewProblem => ({ kind: "warning", message })),
  ];
}

function destinationProblems(destination: ReturnType<typeof destinationOf>): OverviewProblem[] {
  const { id: destinationId, name, state, since, reason, deadLetters } = destination;
  const problems: OverviewProblem[] = [];
  if ((state === "down" || state === "failing") && since !== undefined) {
    const kind = `destination-${state}` as const;
    problems.push({ kind, message: `${name}: ${reason ?? state}`, destinationId, since });
  }
  if (deadLetters > 0) {
    const message = `${name} has ${deadLetters} dead letter${deadLetters === 1 ? "" : "s"}`;
    problems.push({ kind: "dead-letters", message, destinationId, count: deadLetters });
  }
  return problems;
}
