import type { Connection, Destination, Source } from "../../../catalog/model.ts";
import type { Rates } from "../../../pipeline/monitoring/lane-history.ts";
import type { RevisionSuspension } from "../../deps.ts";
import { firstItems } from "../../request/list-query.ts";
import { isoTime } from "../../schema/common.ts";
import {
  type LaneSummary,
  noRates,
  type StatusDeps,
  type WorkspaceStatus,
  workspaceStatus,
} from "./node-status.ts";

/**
 * States of a destination, most urgent first. When several states apply, the overview shows the
 * first of them. `external` is that of a destination that rudder-server delivers, about which
 * pixelmill knows nothing more.
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
  "external",
] as const;

export interface LinkedTransformation {
  id: string;
  versionId: string;
  name: string;
  language: string;
  suspended?: { until: string; reason: string };
}

/**
 * Returns the state and event rates of a workspace's sources, transformations, destinations and
 * connections. Reads at most `STATUS_ITEMS_MAX` of each.
 */
export async function workspaceState(deps: StatusDeps, workspaceId: string) {
  const { catalog } = deps;
  const { missingNodes, ...activity } = await workspaceStatus(deps, workspaceId);
  const sources = firstItems(catalog.sources, workspaceId);
  const destinations = firstItems(catalog.destinations, workspaceId);
  const connections = firstItems(catalog.connections, workspaceId);
  const { code, codeOf } = linkedTransformations(deps, activity, destinations.items);
  const connectionStates = connections.items.map((it) => connectionOf(it, activity));
  const receivedBy = receivedRates(connectionStates);
  return {
    sources: sources.items.map((it) => sourceOf(it, receivedBy)),
    code,
    destinations: destinations.items.map((it) =>
      destinationOf(deps, it, {
        lane: activity.lanes[it.id],
        code: codeOf.get(it.id),
        isAllKnown: missingNodes.length === 0,
      }),
    ),
    connections: connectionStates,
    totals: {
      sources: sources.total,
      destinations: destinations.total,
      connections: connections.total,
    },
    troubles: activity.troubles,
    warnings: activity.warnings,
    missingNodes,
  };
}

export type WorkspaceState = Awaited<ReturnType<typeof workspaceState>>;
export type SourceState = WorkspaceState["sources"][number];
export type DestinationState = ReturnType<typeof destinationOf>;
export type ConnectionState = WorkspaceState["connections"][number];

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

/**
 * Returns the rate of received events by source. Each connected destination counts all events of
 * the source; the highest rate is the most current one, because that destination lags least.
 */
function receivedRates(connections: readonly { sourceId: string; rates: Rates }[]) {
  const receivedBy = new Map<string, number>();
  for (const { sourceId, rates } of connections) {
    receivedBy.set(sourceId, Math.max(rates.received, receivedBy.get(sourceId) ?? 0));
  }
  return receivedBy;
}

function sourceOf({ id, name, enabled }: Source, receivedBy: ReadonlyMap<string, number>) {
  return { id, name, enabled, receivedPerSecond: receivedBy.get(id) ?? 0 };
}

function connectionOf(
  { id, sourceId, destinationId, enabled }: Connection,
  { connections }: WorkspaceStatus,
) {
  return { id, sourceId, destinationId, enabled, rates: rounded(connections[id] ?? noRates) };
}

/** Rounds rates to thousandths, because further digits only make the answer longer. */
function rounded({ received, delivered, dropped, failed }: Rates): Rates {
  const round = (rate: number) => Math.round(rate * 1_000) / 1_000;
  return {
    received: round(received),
    delivered: round(delivered),
    dropped: round(dropped),
    failed: round(failed),
  };
}

interface DestinationContext {
  lane: LaneSummary | undefined;
  code: LinkedTransformation | undefined;
  /** Whether all nodes of the cluster reported the state of their deliveries. */
  isAllKnown: boolean;
}

function destinationOf(
  { pipeline }: StatusDeps,
  destination: Destination,
  known: DestinationContext,
) {
  const { id, workspaceId, name, type, enabled } = destination;
  const deliveredBy = delivererOf(destination);
  const { lane, code } = known;
  const { failure, lagEvents = 0, lagSeconds = 0 } = lane ?? {};
  return {
    id,
    name,
    type,
    deliveredBy,
    enabled,
    ...(code && { transformationId: code.id }),
    state: stateOf({ enabled, deliveredBy }, known),
    ...(failure && { since: isoTime(failure.since), reason: failure.reason }),
    lagEvents,
    lagSeconds,
    rates: rounded(lane?.rates ?? noRates),
    rejecting: lane?.isRejecting ?? false,
    deadLetters: pipeline.deadLetters.count(workspaceId, { destinationId: id }),
  };
}

/** Returns who delivers the events of a destination. */
export function delivererOf({ deliveredBy }: Pick<Destination, "deliveredBy">) {
  return deliveredBy ?? ("pixelmill" as const);
}

function stateOf(
  { enabled, deliveredBy }: { enabled: boolean; deliveredBy: ReturnType<typeof delivererOf> },
  { lane, code, isAllKnown }: DestinationContext,
): (typeof destinationStates)[number] {
  if (!enabled) return "paused";
  if (deliveredBy !== "pixelmill") return "external";
  if (lane === undefined) return isAllKnown ? "unconnected" : "unknown";
  if (lane.failure?.isDown) return "down";
  if (lane.failure) return "failing";
  if (code?.suspended) return "suspended";
  return lane.isWaiting ? "waiting" : "ok";
}
