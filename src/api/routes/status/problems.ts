import { type Static, Type } from "@sinclair/typebox";
import { duration } from "../../../alerts/conditions.ts";
import type { Alert, AlertKind } from "../../../catalog/alerts/model.ts";
import type { LetterGroup } from "../../../pipeline/model/dead-letter.ts";
import { OVERVIEW_LAG_SECONDS_MIN } from "../../../settings/limits.ts";
import { oneOf, text } from "../../../settings/schema-types.ts";
import type { RouteDeps } from "../../deps.ts";
import { isoTime, Time } from "../../schema/common.ts";
import type { LinkedTransformation } from "./status-schema.ts";
import type { DestinationState } from "./workspace-state.ts";

/** Kinds of problems, worst first. The overview lists problems in this order. */
export const problemKinds = [
  "not-ready",
  "node-missing",
  "destination-down",
  "suspended",
  "destination-failing",
  "destination-lagging",
  "alert",
  "alert-receiver",
  "dead-letters",
  "warning",
] as const;

/** Schema of a problem of a workspace or of its server that a person must solve. */
export const Problem = Type.Object(
  {
    kind: oneOf(problemKinds),
    message: Type.String(),
    destinationId: Type.Optional(Type.String()),
    transformationId: Type.Optional(Type.String()),
    sourceId: Type.Optional(Type.String()),
    receiverId: Type.Optional(text("Receiver of alerts that fails")),
    count: Type.Optional(Type.Integer()),
    since: Type.Optional(Time),
  },
  { $id: "Problem", description: "What needs a person; `count` is the number of dead letters" },
);
export type OverviewProblem = Static<typeof Problem>;

interface ProblemSources {
  troubles: readonly string[];
  warnings: readonly string[];
  missingNodes: readonly string[];
  destinations: readonly DestinationState[];
  code: readonly LinkedTransformation[];
}

/**
 * Returns all problems of a workspace, worst first. Leaves out alerts about a destination that is
 * listed as down, failing or lagging, and destinations that are suspended with their
 * transformation, because each cause is listed once.
 */
export function problemsOf(
  state: ProblemSources,
  alerts: readonly OverviewProblem[],
): OverviewProblem[] {
  const { troubles, warnings, missingNodes, destinations, code } = state;
  const suspended = new Set(code.flatMap((it) => (it.suspended ? [it.id] : [])));
  const isOfSuspended = ({ state, transformationId = "" }: DestinationState) =>
    state === "suspended" && suspended.has(transformationId);
  const own = destinations
    .filter((it) => !isOfSuspended(it))
    .flatMap((it) => destinationProblem(it) ?? []);
  const lettersOf = new Map<string, number>();
  for (const { transformationId = "", deadLetters } of destinations.filter(isOfSuspended)) {
    lettersOf.set(transformationId, deadLetters + (lettersOf.get(transformationId) ?? 0));
  }
  const failing = new Set(
    own.filter(({ kind }) => kind !== "dead-letters").map((it) => it.destinationId),
  );
  const problems: OverviewProblem[] = [
    ...troubles.map((message) => ({ kind: "not-ready" as const, message })),
    ...missingNodes.map((id) => ({ kind: "node-missing" as const, message: missing(id) })),
    ...own,
    ...code.flatMap((it) => suspensionProblem(it, lettersOf.get(it.id) ?? 0) ?? []),
    ...alerts.filter((it) => !failing.has(it.destinationId)),
    ...warnings.map((message) => ({ kind: "warning" as const, message })),
  ];
  return problems.sort(worstFirst);
}

const missing = (id: string) => `Node ${id} does not answer: what it does is not in these figures`;

function worstFirst(one: OverviewProblem, other: OverviewProblem): number {
  return (
    problemKinds.indexOf(one.kind) - problemKinds.indexOf(other.kind) ||
    Number(one.since === undefined) - Number(other.since === undefined) ||
    (one.since ?? "").localeCompare(other.since ?? "") ||
    (other.count ?? 0) - (one.count ?? 0)
  );
}

/**
 * Returns the overview's problem about a suspended transformation. Undefined if the transformation
 * is not suspended. `count` is the number of dead letters of the transformation's destinations.
 */
function suspensionProblem({ id, name, suspended }: LinkedTransformation, count: number) {
  if (suspended === undefined) return undefined;
  const message = `${name} is suspended, every batch failed: ${suspended.reason}`;
  const problem = { kind: "suspended" as const, message, transformationId: id };
  return count > 0 ? { ...problem, count } : problem;
}

function destinationProblem(destination: DestinationState): OverviewProblem | undefined {
  const { id: destinationId, name, state, since, reason, deadLetters, lagSeconds } = destination;
  const count = deadLetters > 0 && { count: deadLetters };
  if ((state === "down" || state === "failing") && since !== undefined) {
    const message = `${name}: ${reason ?? state}`;
    return { kind: `destination-${state}`, message, destinationId, since, ...count };
  }
  // A server that delivers nothing has a separate row.
  if (lagSeconds >= OVERVIEW_LAG_SECONDS_MIN && state !== "blocked") {
    const pending = `${counted(destination.lagEvents, "event")} pending`;
    const message = `${name} lags ${duration(lagSeconds)} behind: ${pending}`;
    const since = isoTime(Date.now() - 1_000 * lagSeconds);
    return { kind: "destination-lagging", message, destinationId, since, ...count };
  }
  if (deadLetters === 0) return undefined;
  const message = `${name} has ${counted(deadLetters, "dead letter")}`;
  return { kind: "dead-letters", message, destinationId, count: deadLetters };
}

/**
 * Returns `problem`, which is about the dead letters of `groups`, with the failure reason of the
 * latest one in the message. `since` is the time of the first one, absent if a group does not know
 * it.
 */
export function withReason(problem: OverviewProblem, groups: readonly LetterGroup[]) {
  const latest = groups.toSorted((one, other) => other.lastAt - one.lastAt)[0];
  if (latest === undefined) return problem;
  const first = Math.min(...groups.map(({ firstAt }) => firstAt ?? Number.NaN));
  const message = `${problem.message}: ${latest.reason}`;
  return { ...problem, message, ...(Number.isFinite(first) && { since: isoTime(first) }) };
}

const counted = (count: number, noun: string) =>
  `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/**
 * Kinds of alerts that the overview lists as problems. Alerts of other kinds are left out, because
 * the overview lists their causes anyway, such as a failing destination.
 */
const kindsOfOwn = new Set<AlertKind>(["lag", "source-silent", "nodes-missing", "disk"]);

/**
 * Returns a problem for each open alert of a kind in `kindsOfOwn`, and for each enabled receiver
 * that notifications do not reach.
 */
export function alertProblems(
  { catalog }: Pick<RouteDeps, "catalog">,
  workspaceId: string,
): OverviewProblem[] {
  const { alerts } = catalog;
  const open = alerts.open(workspaceId).filter(({ kind }) => kindsOfOwn.has(kind));
  const failing = alerts.receivers.list(workspaceId, 1).items.flatMap(({ id, name, enabled }) => {
    const { failingSince, reason } = alerts.receivers.state(id);
    if (!enabled || failingSince === undefined) return [];
    const message = `Alerts do not reach ${name}: ${reason}`;
    const since = isoTime(failingSince);
    return [{ kind: "alert-receiver" as const, message, receiverId: id, since }];
  });
  return [...open.map(alertProblem), ...failing];
}

function alertProblem({ message, subject, createdAt }: Alert): OverviewProblem {
  const { type, id } = subject;
  return {
    kind: "alert",
    message,
    ...(type === "destination" && { destinationId: id }),
    ...(type === "source" && { sourceId: id }),
    since: isoTime(createdAt),
  };
}
