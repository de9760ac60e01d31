import { defined } from "../../../defined.ts";
import { cutText } from "../../../errors.ts";
import type { Rates } from "../../../pipeline/monitoring/lane-history.ts";
import type { LaneStatus } from "../../../pipeline/monitoring/lane-status.ts";
import { SUSPENSIONS_SHOWN_MAX } from "../../../settings/limits.ts";
import type { Readiness, RevisionSuspension, RouteDeps } from "../../deps.ts";

export interface LaneSummary extends Omit<LaneStatus, "rates" | "lastFailure"> {
  rates: Rates;
  /** Reason why the node delivers nothing to the destination at present. Absent if it delivers. */
  blocked?: string;
  /**
   * Time, in milliseconds since the epoch, since which no event has succeeded in the destination's
   * user code. Absent unless this time is at least `CODE_SLOW_MS` ago.
   */
  slowCodeSince?: number;
}

/**
 * State of a workspace's deliveries (one lane per destination) and of its user code: on one node,
 * or merged from all nodes.
 */
export interface WorkspaceStatus {
  /** State of each destination's delivery, by destination id. */
  lanes: Record<string, LaneSummary>;
  /** Event rates of each connection (of a source to a destination), by connection id. */
  connections: Record<string, Rates>;
  suspensions: RevisionSuspension[];
  /** Messages of the health checks that fail now, one sentence each. */
  troubles: string[];
  /** Sentences about conditions that the operator should correct although the server works. */
  warnings: string[];
}

export type StatusDeps = Pick<
  RouteDeps,
  | ("catalog" | "pipeline" | "figures" | "suspensions" | "slowCode")
  | ("ready" | "others" | "limiters" | "diskSpace")
>;

/** Maximum number of characters of a failure reason in a response. A longer reason is cut off. */
const REASON_CHARS_MAX = 500;

export const noRates: Rates = { received: 0, delivered: 0, dropped: 0, failed: 0 };

export interface NodeHealth extends Pick<WorkspaceStatus, "troubles" | "warnings"> {
  /** Partitions whose events the node delivers. Absent on a standalone server. */
  running?: number[];
  /**
   * Partitions that are assigned to the node and do not run. Absent on a standalone server, and in
   * the answer of a node with an older version.
   */
  stopped?: { partition: number; reason: string }[];
  /** Disk of the node's data directory. Absent in answers of nodes with an older version. */
  disk?: { freeBytes: number; sizeBytes: number };
}

/**
 * Returns the state of destinations of a workspace as this node knows it. Ignores ids of
 * destinations of other workspaces.
 */
export function localStatus(
  deps: StatusDeps,
  workspaceId: string,
  ids: readonly string[],
): WorkspaceStatus {
  const { catalog, pipeline } = deps;
  const lanes: Record<string, LaneSummary> = {};
  const connections: Record<string, Rates> = {};
  const { checks, warnings } = deps.ready();
  const blocked = faultOf(checks, "delivery") ?? faultOf(checks, "cluster");
  const code = codeStates(deps, workspaceId, ids, faultOf(checks, "sandbox"));
  for (const id of ids) {
    const status = pipeline.status(id);
    if (status === undefined) continue;
    lanes[id] = { ...laneSummary(status), ...code.get(id), ...defined({ blocked }) };
    for (const { sourceId, ...rates } of status.rates) {
      const connection = catalog.connections.idOf({ sourceId, destinationId: id });
      if (connection === undefined) continue;
      connections[connection] = sumRates([rates, connections[connection] ?? noRates]);
    }
  }
  const suspensions = localSuspensions(deps, workspaceId);
  return { lanes, connections, suspensions, troubles: troublesOf(checks), warnings };
}

/**
 * Returns the state of the user code of destinations, by destination id. Destinations without user
 * code are absent.
 * - `blocked`: why no user code can run
 * - `slowCodeSince`: absent if the code is not slow
 */
function codeStates(
  { catalog, slowCode }: StatusDeps,
  workspaceId: string,
  ids: readonly string[],
  blocked: string | undefined,
): ReadonlyMap<string, Pick<LaneSummary, "blocked" | "slowCodeSince">> {
  const states = new Map<string, Pick<LaneSummary, "blocked" | "slowCodeSince">>();
  const slow = slowCode(workspaceId);
  if (blocked === undefined && slow.size === 0) return states;
  for (const destination of catalog.destinations.withIds(workspaceId, ids)) {
    const id = catalog.code.linkedTransformation(destination);
    if (id === undefined) continue;
    const { revision } = catalog.code.publishedRevision(workspaceId, "transformation", id);
    const slowCodeSince = slow.get(revision.versionId);
    states.set(destination.id, defined({ blocked, slowCodeSince }));
  }
  return states;
}

/** Returns this node's health: failed checks, warnings, its partitions, and its disk. */
export function localHealth(deps: Pick<StatusDeps, "ready" | "others" | "diskSpace">): NodeHealth {
  const { others } = deps;
  const { checks, warnings } = deps.ready();
  const running = others?.running?.();
  const stopped = others?.stopped?.();
  const troubles = troublesOf(checks);
  return {
    troubles,
    warnings,
    ...defined({ running, stopped }),
    disk: deps.diskSpace(),
  };
}

type Checks = Readiness["checks"];

function troublesOf(checks: Checks): string[] {
  return Object.keys(checks).flatMap((name) => faultOf(checks, name) ?? []);
}

/**
 * Returns the name and message of a failing check, such as `delivery: …`. Undefined if it passes.
 */
function faultOf(checks: Checks, name: string): string | undefined {
  const { ok = true, message = "not ready" } = checks[name] ?? {};
  return ok ? undefined : `${name}: ${message}`;
}

export function localSuspensions(deps: StatusDeps, workspaceId: string): RevisionSuspension[] {
  const shown = deps.suspensions(workspaceId).slice(0, SUSPENSIONS_SHOWN_MAX);
  return shown.map((it) => ({ ...it, reason: cutText(it.reason, REASON_CHARS_MAX) }));
}

function laneSummary({ rates, failure, lastFailure: _, ...status }: LaneStatus): LaneSummary {
  const reason = cutText(failure?.reason ?? "", REASON_CHARS_MAX);
  return { ...status, ...(failure && { failure: { ...failure, reason } }), rates: sumRates(rates) };
}

export function sumRates(all: readonly Rates[]): Rates {
  return ratesOf((name) => all.reduce((total, rates) => total + rates[name], 0));
}

/**
 * Returns the rates of a lane (the delivery to one destination) or of a connection. Calls `of` with
 * the name of each rate to get its value.
 */
export function ratesOf(of: (name: keyof Rates) => number): Rates {
  return {
    received: of("received"),
    delivered: of("delivered"),
    dropped: of("dropped"),
    failed: of("failed"),
  };
}
