import { duration } from "../../../alerts/conditions.ts";
import type { Connection, Destination, Source } from "../../../catalog/model.ts";
import type { Rates } from "../../../pipeline/monitoring/lane-history.ts";
import {
  OVERVIEW_LAG_SECONDS_MIN,
  STATUS_ITEMS_MAX,
  STATUS_SHARED_ITEMS_MIN,
} from "../../../settings/limits.ts";
import type { RevisionSuspension } from "../../deps.ts";
import { firstItems } from "../../request/list-query.ts";
import { isoTime } from "../../schema/common.ts";
import { type LaneSummary, noRates, ratesOf, type StatusDeps } from "./local-status.ts";
import { workspaceStatus } from "./node-status.ts";
import { destinationStates, type LinkedTransformation } from "./status-schema.ts";

/**
 * Returns states and event rates of a workspace's sources, transformations, destinations and
 * connections (most urgent first), at most `STATUS_ITEMS_MAX` of each. With
 * `STATUS_SHARED_ITEMS_MIN` or more destinations, requests share a state that may be seconds old.
 */
export async function workspaceState(
  deps: StatusDeps,
  workspaceId: string,
  signal = never,
): Promise<WorkspaceState> {
  if (!hasSharedState(deps, workspaceId)) return await readState(deps, workspaceId, signal);
  const { topology, programs } = deps.catalog.routing;
  return await deps.limiters.workspaceStates.get(
    { key: workspaceId, version: `${topology()} ${programs()}` },
    async (signal) => {
      const state = await readState(deps, workspaceId, signal);
      state.destinations.sort(urgentDestinationFirst);
      return state;
    },
    signal,
  );
}

/** Whether a workspace has enough destinations for its requests to share one computed state. */
export function hasSharedState({ catalog }: StatusDeps, workspaceId: string): boolean {
  return catalog.destinations.count(workspaceId) >= STATUS_SHARED_ITEMS_MIN;
}

export function busiestFirst(one: SourceState, other: SourceState): number {
  return other.receivedPerSecond - one.receivedPerSecond || one.name.localeCompare(other.name);
}

export function urgentDestinationFirst(one: DestinationState, other: DestinationState): number {
  return (
    destinationStates.indexOf(one.state) - destinationStates.indexOf(other.state) ||
    (one.since ?? "").localeCompare(other.since ?? "") ||
    other.rates.failed - one.rates.failed ||
    other.rates.received - one.rates.received ||
    one.name.localeCompare(other.name)
  );
}

/**
 * Returns a comparison for sorting connections: enabled ones first, then by how urgent the state of
 * their destination is.
 */
function urgentConnectionFirst(destinations: readonly DestinationState[]) {
  const urgencyOf = new Map(
    destinations.map(({ id, state }) => [id, destinationStates.indexOf(state)]),
  );
  const urgency = ({ destinationId }: ConnectionState) =>
    urgencyOf.get(destinationId) ?? destinationStates.length;
  return (one: ConnectionState, other: ConnectionState) =>
    Number(other.enabled) - Number(one.enabled) ||
    urgency(one) - urgency(other) ||
    other.rates.failed - one.rates.failed ||
    other.rates.received - one.rates.received;
}

async function readState(deps: StatusDeps, workspaceId: string, signal: AbortSignal) {
  const { catalog, limiters } = deps;
  const slices = limiters.listSlices;
  const slicing = { slices, signal };
  const sources = await firstItems(catalog.sources, workspaceId, slicing);
  const destinations = await firstItems(catalog.destinations, workspaceId, slicing);
  const connections = await firstItems(catalog.connections, workspaceId, slicing);
  const measured = await measure(deps, workspaceId, destinations.items, signal);
  const connectionStates: ReturnType<typeof connectionOf>[] = [];
  await slices.each(
    connections.items,
    (it) => connectionStates.push(connectionOf(it, measured.rates)),
    signal,
  );
  connectionStates.sort(urgentConnectionFirst(measured.destinations));
  const receivedBy = receivedRates(connectionStates);
  return {
    ...measured,
    sources: sources.items.map((it) => sourceOf(it, receivedBy)),
    connections: connectionStates,
    totals: {
      sources: sources.total,
      destinations: destinations.total,
      connections: connections.total,
    },
  };
}

const never = new AbortController().signal;

export type WorkspaceState = Awaited<ReturnType<typeof readState>>;
export type SourceState = WorkspaceState["sources"][number];
export type DestinationState = ReturnType<typeof destinationOf>;
export type ConnectionState = WorkspaceState["connections"][number];

/**
 * Returns the state of the given destinations and of the transformations that are connected to
 * them, and the troubles (failed checks) and warnings of all nodes.
 */
export async function measure(
  deps: StatusDeps,
  workspaceId: string,
  measured: readonly Destination[],
  signal = never,
) {
  const ids = measured.map(({ id }) => id);
  const { missingNodes, ...activity } = await workspaceStatus(deps, workspaceId, ids);
  const { lanes, suspensions, troubles, warnings } = activity;
  const suspended = new Map(suspensions.map((it) => [it.transformationVersionId, it]));
  const code = new Map<string, LinkedTransformation>();
  const destinations: DestinationState[] = [];
  const add = (it: Destination) => {
    const id = deps.catalog.code.linkedTransformation(it);
    // Several destinations may have the same transformation, which is read once.
    if (id !== undefined && !code.has(id)) {
      code.set(id, linkedTransformation(deps, workspaceId, id, suspended));
    }
    const context = {
      lane: lanes[it.id],
      code: id === undefined ? undefined : code.get(id),
      isAllKnown: missingNodes.length === 0,
    };
    destinations.push(destinationOf(deps, it, context));
  };
  await deps.limiters.listSlices.each(measured, add, signal);
  const rates = activity.connections;
  return { destinations, code: [...code.values()], rates, troubles, warnings, missingNodes };
}

/**
 * Returns the state of the given sources. The rate of a source is computed from the rates of its
 * connections.
 */
export async function measureSources(
  deps: StatusDeps,
  workspaceId: string,
  sources: readonly Source[],
  signal: AbortSignal,
) {
  const { catalog, limiters } = deps;
  const connections: Connection[] = [];
  const each = sources
    .values()
    .flatMap(({ id: sourceId }) => catalog.connections.eachOf(workspaceId, { sourceId }));
  const first = each.take(STATUS_ITEMS_MAX);
  await limiters.listSlices.each(first, (it) => connections.push(it), signal);
  const ids = [...new Set(connections.map(({ destinationId }) => destinationId))];
  const status = await workspaceStatus(deps, workspaceId, ids);
  const receivedBy = receivedRates(connections.map((it) => connectionOf(it, status.connections)));
  const states = sources.map((it) => sourceOf(it, receivedBy));
  return { states, missingNodes: status.missingNodes };
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
 * Returns, by source id, the rate at which events are received: the highest rate at which one of
 * the source's destinations reads, because a destination with a lag may read at another rate.
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
  rates: Readonly<Record<string, Rates>>,
) {
  return { id, sourceId, destinationId, enabled, rates: rounded(rates[id] ?? noRates) };
}

/** Rounds rates to thousandths, because further digits only make the answer longer. */
function rounded(rates: Rates): Rates {
  return ratesOf((name) => Math.round(rates[name] * 1_000) / 1_000);
}

interface DestinationContext {
  lane: LaneSummary | undefined;
  code: LinkedTransformation | undefined;
  /** Whether all nodes of the cluster answered. If not, a destination's state may be unknown. */
  isAllKnown: boolean;
}

function destinationOf(
  { pipeline }: StatusDeps,
  destination: Destination,
  known: DestinationContext,
) {
  const { id, workspaceId, name, type, enabled, deliveredBy = "pixelmill" as const } = destination;
  const { lane, code } = known;
  const { failure, lagEvents = 0, lagSeconds = 0 } = lane ?? {};
  return {
    id,
    name,
    type,
    deliveredBy,
    enabled,
    ...(code && { transformationId: code.id }),
    state: stateOf(destination, known),
    ...(failure && { since: isoTime(failure.since), reason: failure.reason }),
    ...(!failure && lane && reasonToWait(lane)),
    lagEvents,
    lagSeconds,
    rates: rounded(lane?.rates ?? noRates),
    rejecting: lane?.isRejecting ?? false,
    deadLetters: pipeline.deadLetters.count(workspaceId, { destinationId: id }),
  };
}

function reasonToWait({ blocked, slowCodeSince }: LaneSummary): { reason?: string } {
  if (blocked) return { reason: blocked };
  if (slowCodeSince === undefined) return {};
  const seconds = (Date.now() - slowCodeSince) / 1_000;
  return { reason: `Its user code has run for ${duration(seconds)} without a result` };
}

function stateOf(
  { enabled, deliveredBy }: Destination,
  { lane, code, isAllKnown }: DestinationContext,
): (typeof destinationStates)[number] {
  if (!enabled) return "paused";
  if (deliveredBy !== undefined) return "external";
  if (lane === undefined) return isAllKnown ? "unconnected" : "unknown";
  if (lane.failure?.isDown) return "down";
  if (lane.failure) return "failing";
  if (code?.suspended) return "suspended";
  if (lane.blocked) return "blocked";
  if (lane.isWaiting || lane.slowCodeSince) return "waiting";
  if (lane.lagSeconds >= OVERVIEW_LAG_SECONDS_MIN) return "lagging";
  // A node that does not answer may deliver a part of the events.
  return isAllKnown ? "ok" : "unknown";
}
