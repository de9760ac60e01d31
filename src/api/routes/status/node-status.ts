import { defined } from "../../../defined.ts";
import type { NodeRow } from "../../../figures/figure-tables.ts";
import type { Series } from "../../../figures/series.ts";
import { CONSEQUENCE, joinConsequences } from "../../../observe/consequence.ts";
import type { CodeLogFilter, CodeLogLine } from "../../../pipeline/monitoring/code-logs.ts";
import type { LastFailure } from "../../../pipeline/monitoring/lane-gauges.ts";
import type { LatestOutcome, RecentFilter } from "../../../pipeline/recent/latest-outcomes.ts";
import { STATUS_DESTINATIONS_ASKED_MAX } from "../../../settings/limits.ts";
import type { RevisionSuspension } from "../../deps.ts";
import {
  type LaneSummary,
  localHealth,
  localStatus,
  localSuspensions,
  type NodeHealth,
  type StatusDeps,
  sumRates,
  type WorkspaceStatus,
} from "./local-status.ts";

interface NodeAnswers<T> {
  /** Answers of the nodes to one question, by node id. The answer of this node is included. */
  byNode: ReadonlyMap<string, T>;
  /** Ids of nodes that did not answer in time. Empty on a standalone server. */
  missingNodes: string[];
}

/**
 * Returns the state of a workspace's destinations, and the troubles and warnings of the nodes,
 * merged from all nodes. Divides the destinations among several questions, because a node can do
 * nothing else while it answers one question.
 */
export async function workspaceStatus(
  deps: StatusDeps,
  workspaceId: string,
  destinationIds: readonly string[],
): Promise<WorkspaceStatus & { missingNodes: string[] }> {
  using _permit = permitOf(deps, workspaceId);
  const parts = partsOf(destinationIds, STATUS_DESTINATIONS_ASKED_MAX);
  const answers = await Promise.all(
    parts.map((ids) => askAll<WorkspaceStatus>(deps, ["activity", workspaceId, ids])),
  );
  const statuses = answers.map(({ byNode }) => mergeStatuses(byNode));
  const [{ troubles, warnings } = noTroubles] = statuses;
  return {
    lanes: Object.assign({}, ...statuses.map(({ lanes }) => lanes)),
    connections: Object.assign({}, ...statuses.map(({ connections }) => connections)),
    suspensions: latestSuspensions(statuses.flatMap(({ suspensions }) => suspensions)),
    troubles,
    warnings,
    missingNodes: [...new Set(answers.flatMap(({ missingNodes }) => missingNodes))].sort(),
  };
}

const noTroubles = { troubles: [], warnings: [] };

/** Splits a list into parts of at most `max` items. Returns one part for an empty list. */
function partsOf<T>(items: readonly T[], max: number): T[][] {
  const count = Math.max(1, Math.ceil(items.length / max));
  return Array.from({ length: count }, (_, n) => items.slice(n * max, (n + 1) * max));
}

export async function workspaceSuspensions(deps: StatusDeps, workspaceId: string) {
  const question = ["suspensions", workspaceId];
  const { rows, missingNodes } = await rowsOfAll<RevisionSuspension>(deps, workspaceId, question);
  return { suspensions: latestSuspensions(rows), missingNodes };
}

/** Returns those figures of the given series that the nodes have counted but not yet stored. */
export function unwrittenFigures(deps: StatusDeps, workspaceId: string, series: readonly Series[]) {
  return rowsOfAll<NodeRow>(deps, workspaceId, ["figures", ...series]);
}

/**
 * Returns the latest lines that published code wrote with `log(...)` and that match the filter,
 * from all nodes, newest first.
 */
export async function latestCodeLogs(
  deps: StatusDeps,
  workspaceId: string,
  filter: CodeLogFilter,
  limit: number,
): Promise<{ lines: CodeLogLine[]; missingNodes: string[] }> {
  const question = ["logs", workspaceId, filter, limit];
  const { rows, missingNodes } = await rowsOfAll<CodeLogLine>(deps, workspaceId, question);
  rows.sort((one, other) => (one.id < other.id ? 1 : -1));
  return { lines: rows.slice(0, limit), missingNodes };
}

/**
 * Returns from each node all outcomes (what became of an event at a destination) of its latest
 * `eventsMax` events that have an outcome matching the filter. With `filter.destinationId`, returns
 * only outcomes at this destination.
 */
export function latestOutcomes(
  deps: StatusDeps,
  workspaceId: string,
  filter: RecentFilter,
  eventsMax: number,
) {
  return rowsOfAll<LatestOutcome>(deps, workspaceId, ["outcomes", workspaceId, filter, eventsMax]);
}

/**
 * Returns the last failed delivery to a destination from each node that has had one since its
 * start.
 */
export async function lastFailures(deps: StatusDeps, workspaceId: string, destinationId: string) {
  const question = ["failure", destinationId];
  const answers = await askAllNodes<LastFailure | null>(deps, workspaceId, question);
  const failures = [...answers.byNode.values()].filter((it) => it !== null);
  return { failures, missingNodes: answers.missingNodes };
}

/**
 * Sends a question to all nodes, each of which answers with a list. Returns the items of all lists.
 */
async function rowsOfAll<T>(deps: StatusDeps, workspaceId: string, question: readonly unknown[]) {
  const { byNode, missingNodes } = await askAllNodes<T[]>(deps, workspaceId, question);
  return { rows: [...byNode.values()].flat(), missingNodes };
}

/** Returns the health of all nodes, by the id of the node. */
export function nodesHealth(deps: StatusDeps, workspaceId: string) {
  return askAllNodes<NodeHealth>(deps, workspaceId, ["health"]);
}

type Answers = Record<string, (deps: StatusDeps, ...values: never[]) => unknown>;

/**
 * Functions that answer a question from this node's own state, by the kind of question. A question
 * is an array: its kind, then the arguments of the function after `deps`.
 */
const answers: Answers = {
  activity: localStatus,
  suspensions: localSuspensions,
  health: localHealth,
  logs: ({ pipeline }, ...asked: Parameters<StatusDeps["pipeline"]["codeLogs"]>) =>
    pipeline.codeLogs(...asked),
  outcomes: ({ pipeline }, ...asked: Parameters<StatusDeps["pipeline"]["latestOutcomes"]>) =>
    pipeline.latestOutcomes(...asked),
  figures: ({ figures }, ...series: string[]) => figures.unwritten(series),
  failure: ({ pipeline }, destinationId: string) =>
    pipeline.status(destinationId)?.lastFailure ?? null,
};

/**
 * Answers a question about this node's own state. The question comes from an API request at this
 * node, or from another node.
 */
export function answerLocally(deps: StatusDeps, question: unknown): unknown {
  const [kind, ...values] = question as [string, ...never[]];
  const answer = Object.hasOwn(answers, kind) ? answers[kind] : undefined;
  if (answer !== undefined) return answer(deps, ...values);
  throw new Error(`Expected a question that this version knows, got ${kind}`);
}

/**
 * Sends a question to all nodes, this one included, because each node knows only the state of the
 * deliveries and code that it runs itself. `missingNodes` lists the nodes that did not answer.
 */
async function askAllNodes<T>(
  deps: StatusDeps,
  workspaceId: string,
  question: readonly unknown[],
): Promise<NodeAnswers<T>> {
  using _permit = permitOf(deps, workspaceId);
  return await askAll(deps, question);
}

function permitOf({ others, limiters }: StatusDeps, workspaceId: string) {
  return others && limiters.nodeQuestions.acquire(workspaceId);
}

async function askAll<T>(deps: StatusDeps, question: readonly unknown[]): Promise<NodeAnswers<T>> {
  const { others, limiters } = deps;
  const asked = others?.ask(question);
  const own = await limiters.listSlices.run(() => answerLocally(deps, question));
  const byNode = new Map([[others?.node ?? "", own as T]]);
  const { answers = new Map<string, unknown>(), missing = [] } = (await asked) ?? {};
  for (const [node, answer] of answers) byNode.set(node, answer as T);
  return { byNode, missingNodes: missing };
}

function mergeStatuses(told: ReadonlyMap<string, WorkspaceStatus>): WorkspaceStatus {
  const all = [...told.values()];
  const lanes = all.map((status) => status.lanes);
  const connections = all.map((status) => status.connections);
  return {
    lanes: mergeById(lanes, mergeLanes),
    connections: mergeById(connections, sumRates),
    suspensions: latestSuspensions(all.flatMap(({ suspensions }) => suspensions)),
    ...mergeMessages(told),
  };
}

/**
 * Merges the troubles (failed checks) and warnings of all nodes. Messages with the same cause
 * become one, which is a trouble if any of them is. A message begins with node ids if only some
 * nodes report its cause.
 */
export function mergeMessages(told: ReadonlyMap<string, Messages>): Messages {
  const all = [...told].flatMap(([id, { troubles, warnings }]) => [
    ...troubles.map((text) => ({ id, text, isTrouble: true })),
    ...warnings.map((text) => ({ id, text, isTrouble: false })),
  ]);
  const merged: Messages = { troubles: [], warnings: [] };
  for (const by of Map.groupBy(all, ({ text }) => causeOf(text)).values()) {
    const ids = [...new Set(by.map(({ id }) => id))].sort();
    const { text, isTrouble } = by.find((it) => it.isTrouble) ?? by[0]!;
    const sentences = by.map((it) => it.text);
    const message = joinConsequences(text.split(CONSEQUENCE)[0]!, sentences);
    const row = ids.length === told.size ? message : `${ids.join(", ")}: ${message}`;
    merged[isTrouble ? "troubles" : "warnings"].push(row);
  }
  return { troubles: merged.troubles.sort(), warnings: merged.warnings.sort() };
}

type Messages = Pick<WorkspaceStatus, "troubles" | "warnings">;

/**
 * Returns the cause that a message names: the text before the first consequence, without the name
 * of the health check with which the message may begin.
 */
const causeOf = (text: string) => text.split(CONSEQUENCE)[0]!.replace(/^[a-z]+: /, "");

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
 * Merges the states of one destination on several nodes: adds up rates and waiting events, and
 * keeps the largest lag and the most urgent failure.
 */
function mergeLanes(lanes: readonly LaneSummary[]): LaneSummary {
  const failure = lanes.flatMap((lane) => lane.failure ?? []).sort(byUrgency)[0];
  const [blocked] = lanes.flatMap((lane) => lane.blocked ?? []);
  const [slowCodeSince] = lanes.flatMap((lane) => lane.slowCodeSince ?? []).sort();
  return {
    lagEvents: lanes.reduce((sum, { lagEvents }) => sum + lagEvents, 0),
    lagSeconds: Math.max(...lanes.map(({ lagSeconds }) => lagSeconds)),
    isWaiting: lanes.some(({ isWaiting }) => isWaiting),
    isRejecting: lanes.some(({ isRejecting }) => isRejecting === true),
    ...defined({ failure, blocked, slowCodeSince }),
    rates: sumRates(lanes.map(({ rates }) => rates)),
  };
}

type Failure = NonNullable<LaneSummary["failure"]>;

const byUrgency = (one: Failure, other: Failure) =>
  Number(other.isDown) - Number(one.isDown) || one.since - other.since;

/**
 * Returns one suspension for each suspended revision. If several nodes have suspended a revision,
 * returns the suspension that ends last.
 */
function latestSuspensions(suspensions: readonly RevisionSuspension[]): RevisionSuspension[] {
  const groups = Map.groupBy(suspensions, (it) => it.transformationVersionId).values();
  return [...groups].map((of) => of.reduce((one, it) => (it.until > one.until ? it : one)));
}
