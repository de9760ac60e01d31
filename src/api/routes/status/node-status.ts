import type { NodeRow } from "../../../figures/figure-tables.ts";
import type { Series } from "../../../figures/series.ts";
import type { CodeLogFilter, CodeLogLine } from "../../../pipeline/monitoring/code-logs.ts";
import type { LastFailure } from "../../../pipeline/monitoring/lane-gauges.ts";
import type { Rates } from "../../../pipeline/monitoring/lane-history.ts";
import type { LaneStatus } from "../../../pipeline/monitoring/lane-status.ts";
import type { LatestOutcome, RecentFilter } from "../../../pipeline/recent/latest-outcomes.ts";
import { SUSPENSIONS_SHOWN_MAX } from "../../../settings/limits.ts";
import type { RevisionSuspension, RouteDeps } from "../../deps.ts";
import { firstItems } from "../../request/list-query.ts";

export interface LaneSummary extends Omit<LaneStatus, "rates" | "lastFailure"> {
  rates: Rates;
}

/**
 * State of a workspace's lanes (deliveries to a destination) and guests (processes that run user
 * code), on one node or merged from all nodes.
 */
export interface WorkspaceStatus {
  /** State of each destination's delivery, by destination id. */
  lanes: Record<string, LaneSummary>;
  /** Event rates of each connection (of a source to a destination), by connection id. */
  connections: Record<string, Rates>;
  suspensions: RevisionSuspension[];
  /** Messages of failing health checks, one sentence each. */
  troubles: string[];
  /** Warnings about states in which the server works but should not remain. */
  warnings: string[];
}

interface NodeAnswers<T> {
  /** Answers by the id of the node. The answer of this node is included. */
  byNode: ReadonlyMap<string, T>;
  /** Ids of nodes that did not answer in time. Empty on a standalone server. */
  missingNodes: string[];
}

export type StatusDeps = Pick<
  RouteDeps,
  | ("catalog" | "pipeline" | "figures" | "suspensions")
  | ("ready" | "others" | "limiters" | "diskSpace")
>;

/** Maximum length of a failure reason in a response. The rest is cut off. */
const REASON_CHARS_MAX = 500;

export const noRates: Rates = { received: 0, delivered: 0, dropped: 0, failed: 0 };

export async function workspaceStatus(deps: StatusDeps, workspaceId: string) {
  const question = ["activity", workspaceId];
  const { byNode, missingNodes } = await askAllNodes<WorkspaceStatus>(deps, workspaceId, question);
  return { ...mergeStatuses(byNode), missingNodes };
}

export async function workspaceSuspensions(deps: StatusDeps, workspaceId: string) {
  const question = ["suspensions", workspaceId];
  const answers = await askAllNodes<RevisionSuspension[]>(deps, workspaceId, question);
  const suspensions = latestSuspensions([...answers.byNode.values()].flat());
  return { suspensions, missingNodes: answers.missingNodes };
}

/** Returns the rows of figures that the nodes have counted and not stored yet. */
export async function unwrittenFigures(
  deps: StatusDeps,
  workspaceId: string,
  series: readonly Series[],
) {
  const question = ["figures", ...series];
  const { byNode, missingNodes } = await askAllNodes<NodeRow[]>(deps, workspaceId, question);
  return { rows: [...byNode.values()].flat(), missingNodes };
}

type CodeLogQuestion = readonly ["logs", string, CodeLogFilter, number];

/** Returns the latest matching lines of `log(...)` of live code on all nodes, newest first. */
export async function latestCodeLogs(
  deps: StatusDeps,
  workspaceId: string,
  filter: CodeLogFilter,
  limit: number,
): Promise<{ lines: CodeLogLine[]; missingNodes: string[] }> {
  const question: CodeLogQuestion = ["logs", workspaceId, filter, limit];
  const { byNode, missingNodes } = await askAllNodes<CodeLogLine[]>(deps, workspaceId, question);
  const lines = [...byNode.values()].flat().sort((one, other) => (one.id < other.id ? 1 : -1));
  return { lines: lines.slice(0, limit), missingNodes };
}

type OutcomeQuestion = readonly ["outcomes", string, RecentFilter, number];

/** Returns the matching outcomes of the latest events of each node. */
export async function latestOutcomes(
  deps: StatusDeps,
  workspaceId: string,
  filter: RecentFilter,
  eventsMax: number,
): Promise<{ outcomes: LatestOutcome[]; missingNodes: string[] }> {
  const question: OutcomeQuestion = ["outcomes", workspaceId, filter, eventsMax];
  const { byNode, missingNodes } = await askAllNodes<LatestOutcome[]>(deps, workspaceId, question);
  return { outcomes: [...byNode.values()].flat(), missingNodes };
}

/** Returns the last failure of each node that delivers events of a destination. */
export async function lastFailures(deps: StatusDeps, workspaceId: string, destinationId: string) {
  const question = ["failure", destinationId];
  const answers = await askAllNodes<LastFailure | null>(deps, workspaceId, question);
  const failures = [...answers.byNode.values()].filter((it) => it !== null);
  return { failures, missingNodes: answers.missingNodes };
}

/** Returns the health of all nodes, by the id of the node. */
export function nodesHealth(deps: StatusDeps, workspaceId: string) {
  return askAllNodes<NodeHealth>(deps, workspaceId, ["health"]);
}

/**
 * Answers a question about the state of this node alone. The question comes from a client or from
 * another node.
 */
export function answerLocally(deps: StatusDeps, question: unknown): unknown {
  const [kind, id, ...more] = question as [string, string, ...string[]];
  switch (kind) {
    case "activity":
      return localStatus(deps, id);
    case "suspensions":
      return localSuspensions(deps, id);
    case "health":
      return localHealth(deps);
    case "logs": {
      const [, , filter, limit] = question as CodeLogQuestion;
      return deps.pipeline.codeLogs(id, filter, limit);
    }
    case "outcomes": {
      const [, , filter, eventsMax] = question as OutcomeQuestion;
      return deps.pipeline.latestOutcomes(id, filter, eventsMax);
    }
    case "figures":
      return deps.figures.unwritten([id, ...more]);
    case "failure":
      return deps.pipeline.status(id)?.lastFailure ?? null;
    default:
      throw new Error(`Expected a question that this version knows, got ${kind}`);
  }
}

/**
 * Sends a question to all nodes, including this one, because only the node that delivers a
 * destination's events or runs a workspace's code knows their state.
 */
async function askAllNodes<T>(
  deps: StatusDeps,
  workspaceId: string,
  question: readonly unknown[],
): Promise<NodeAnswers<T>> {
  const byNode = new Map([[deps.others?.node ?? "", answerLocally(deps, question) as T]]);
  if (deps.others === undefined) return { byNode, missingNodes: [] };
  using _permit = deps.limiters.nodeQuestions.acquire(workspaceId);
  const { answers, missing } = await deps.others.ask(question);
  for (const [node, answer] of answers) byNode.set(node, answer as T);
  return { byNode, missingNodes: missing };
}

function localStatus(deps: StatusDeps, workspaceId: string): WorkspaceStatus {
  const { catalog, pipeline } = deps;
  const destinations = firstItems(catalog.destinations, workspaceId);
  const connections = firstItems(catalog.connections, workspaceId);
  const lanes = new Map<string, LaneStatus>();
  for (const { id } of destinations.items) {
    const status = pipeline.status(id);
    if (status !== undefined) lanes.set(id, status);
  }
  const { troubles, warnings } = localHealth(deps);
  const rates = connections.items.map(({ id, sourceId, destinationId }) => {
    const all = lanes.get(destinationId)?.rates ?? [];
    return [id, sumRates(all.filter((it) => it.sourceId === sourceId))] as const;
  });
  return {
    lanes: Object.fromEntries(lanes.entries().map(([id, status]) => [id, laneSummary(status)])),
    connections: Object.fromEntries(rates),
    suspensions: localSuspensions(deps, workspaceId),
    troubles,
    warnings,
  };
}

export interface NodeHealth extends Pick<WorkspaceStatus, "troubles" | "warnings"> {
  /** Partitions whose events the node delivers. Absent in answers of older versions. */
  running?: number[];
  /** Disk of the node's data directory. Absent in answers of older versions. */
  disk?: { freeBytes: number; sizeBytes: number };
}

/** Returns the messages of this node's failing health checks, and its warnings. */
function localHealth({
  ready,
  others,
  diskSpace,
}: Pick<StatusDeps, "ready" | "others" | "diskSpace">): NodeHealth {
  const { checks, warnings } = ready();
  const failing = Object.entries(checks).filter(([, { ok }]) => !ok);
  const troubles = failing.map(([name, { message }]) => `${name}: ${message ?? "not ready"}`);
  const running = others?.running?.();
  return { troubles, warnings, ...(running && { running }), disk: diskSpace() };
}

function localSuspensions(deps: StatusDeps, workspaceId: string): RevisionSuspension[] {
  const shown = deps.suspensions(workspaceId).slice(0, SUSPENSIONS_SHOWN_MAX);
  return shown.map((it) => ({ ...it, reason: it.reason.slice(0, REASON_CHARS_MAX) }));
}

function laneSummary({ rates, failure, lastFailure: _, ...status }: LaneStatus): LaneSummary {
  const reason = failure?.reason.slice(0, REASON_CHARS_MAX) ?? "";
  return { ...status, ...(failure && { failure: { ...failure, reason } }), rates: sumRates(rates) };
}

function mergeStatuses(told: ReadonlyMap<string, WorkspaceStatus>): WorkspaceStatus {
  const all = [...told.values()];
  return {
    lanes: mergeById(
      all.map(({ lanes }) => lanes),
      mergeLanes,
    ),
    connections: mergeById(
      all.map(({ connections }) => connections),
      sumRates,
    ),
    suspensions: latestSuspensions(all.flatMap(({ suspensions }) => suspensions)),
    troubles: mergeMessages(told, ({ troubles }) => troubles),
    warnings: mergeMessages(told, ({ warnings }) => warnings),
  };
}

/**
 * Merges the messages of all nodes and drops duplicates. A message that only some nodes report is
 * prefixed with the ids of these nodes.
 */
export function mergeMessages<T>(
  told: ReadonlyMap<string, T>,
  sentencesOf: (of: T) => readonly string[],
): string[] {
  const all = [...told].flatMap(([id, of]) => sentencesOf(of).map((text) => ({ id, text })));
  return [...Map.groupBy(all, ({ text }) => text)]
    .map(([text, by]) => {
      const ids = by.map(({ id }) => id).sort();
      return ids.length === told.size ? text : `${ids.join(", ")}: ${text}`;
    })
    .sort();
}

function mergeById<T>(
  all: readonly Record<string, T>[],
  join: (values: readonly T[]) => T,
): Record<string, T> {
  const groups = Map.groupBy(all.flatMap(Object.entries<T>), ([id]) => id);
  return Object.fromEntries(
    groups.entries().map(([id, entries]) => [id, join(entries.map(([, value]) => value))]),
  );
}

/**
 * Merges the delivery states of one destination from several nodes: adds the rates, and keeps the
 * most urgent failure.
 */
function mergeLanes(lanes: readonly LaneSummary[]): LaneSummary {
  const failure = lanes.flatMap((lane) => lane.failure ?? []).sort(byUrgency)[0];
  return {
    lagEvents: lanes.reduce((sum, { lagEvents }) => sum + lagEvents, 0),
    lagSeconds: Math.max(...lanes.map(({ lagSeconds }) => lagSeconds)),
    isWaiting: lanes.some(({ isWaiting }) => isWaiting),
    isRejecting: lanes.some(({ isRejecting }) => isRejecting === true),
    ...(failure && { failure }),
    rates: sumRates(lanes.map(({ rates }) => rates)),
  };
}

type Failure = NonNullable<LaneStatus["failure"]>;

const byUrgency = (one: Failure, other: Failure) =>
  Number(other.isDown) - Number(one.isDown) || one.since - other.since;

function sumRates(all: readonly Rates[]): Rates {
  const sum = (key: keyof Rates) => all.reduce((total, rates) => total + rates[key], 0);
  return {
    received: sum("received"),
    delivered: sum("delivered"),
    dropped: sum("dropped"),
    failed: sum("failed"),
  };
}

/**
 * Returns, for each revision, the suspension with the latest end. Each node suspends revisions
 * independently.
 */
function latestSuspensions(suspensions: readonly RevisionSuspension[]): RevisionSuspension[] {
  const groups = Map.groupBy(suspensions, (it) => it.transformationVersionId).values();
  return [...groups].map((of) => of.reduce((one, it) => (it.until > one.until ? it : one)));
}
