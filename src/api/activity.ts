import type { MinuteCounts, Rates } from "../pipeline/monitoring/lane-history.ts";
import type { LaneStatus } from "../pipeline/monitoring/lane-status.ts";
import { STATUS_QUESTIONS_OF_WORKSPACE_MAX, SUSPENSIONS_SHOWN_MAX } from "../settings/limits.ts";
import { TooMany } from "./errors.ts";
import { firstOf } from "./first-of.ts";
import type { ApiParts, Suspension } from "./parts.ts";
import { createPlaces } from "./places.ts";

/**
 * What lanes and guests do at the moment only the node that runs them knows. A node that a client
 * asks therefore asks all others, so that every node gives the same answer.
 */

export interface LaneActivity extends Omit<LaneStatus, "rates"> {
  rates: Rates;
}

/** What the lanes and guests of a workspace do. */
export interface Activity {
  /** By destination. */
  lanes: Record<string, LaneActivity>;
  /** By connection. */
  connections: Record<string, Rates>;
  suspensions: Suspension[];
  /** Sentences on what does not work, and on what works but should not stay so. */
  troubles: string[];
  warnings: string[];
}

interface FromAll<T> {
  /** By the node's id, this node's own too. */
  told: ReadonlyMap<string, T>;
  /** Ids of nodes that did not answer in time; none where the server is alone. */
  missingNodes: string[];
}

export type Parts = Pick<ApiParts, "catalog" | "pipeline" | "suspensions" | "ready" | "others">;

/** Characters of a reason that are told. */
const REASON_CHARS_MAX = 500;
const RETRY_SECONDS = 1;
const tooMany = `Expected at most ${STATUS_QUESTIONS_OF_WORKSPACE_MAX} questions of a workspace that all nodes are asked, got more`;
const places = createPlaces({ each: STATUS_QUESTIONS_OF_WORKSPACE_MAX });

export const noRates: Rates = { received: 0, delivered: 0, dropped: 0, failed: 0 };

export async function activityOf(parts: Parts, workspaceId: string) {
  const question = ["activity", workspaceId];
  const { told, missingNodes } = await askAll<Activity>(parts, workspaceId, question);
  return { ...merged(told), missingNodes };
}

export async function suspensionsOf(parts: Parts, workspaceId: string) {
  const question = ["suspensions", workspaceId];
  const { told, missingNodes } = await askAll<Suspension[]>(parts, workspaceId, question);
  return { suspensions: latest([...told.values()].flat()), missingNodes };
}

export async function countedOf(parts: Parts, workspaceId: string, destinationId: string) {
  const question = ["counted", destinationId];
  const { told, missingNodes } = await askAll<MinuteCounts[]>(parts, workspaceId, question);
  return { counted: [...told.values()].flat(), missingNodes };
}

/** What this node answers, be it asked by a client or by another node. */
export function ownAnswer(parts: Parts, question: unknown): unknown {
  const [kind, id] = question as [string, string];
  switch (kind) {
    case "activity":
      return ownActivity(parts, id);
    case "suspensions":
      return ownSuspensions(parts, id);
    case "health":
      return healthOf(parts);
    case "counted":
      return parts.pipeline.counted(id);
    default:
      throw new Error(`Expected a question that this version knows, got ${kind}`);
  }
}

async function askAll<T>(
  parts: Parts,
  workspaceId: string,
  question: readonly unknown[],
): Promise<FromAll<T>> {
  const told = new Map([[parts.others?.node ?? "", ownAnswer(parts, question) as T]]);
  if (parts.others === undefined) return { told, missingNodes: [] };
  const leave = places.enter(workspaceId);
  if (leave === undefined) throw new TooMany(RETRY_SECONDS, tooMany);
  try {
    const { answers, missing } = await parts.others.ask(question);
    for (const [node, answer] of answers) told.set(node, answer as T);
    return { told, missingNodes: missing };
  } finally {
    leave();
  }
}

function ownActivity(parts: Parts, workspaceId: string): Activity {
  const { catalog, pipeline } = parts;
  const destinations = firstOf((page) => catalog.destinations.list(workspaceId, page));
  const connections = firstOf((page) => catalog.connections.list(workspaceId, page));
  const lanes = new Map<string, LaneStatus>();
  for (const { id } of destinations.items) {
    const status = pipeline.status(id);
    if (status !== undefined) lanes.set(id, status);
  }
  const rates = connections.items.map(({ id, sourceId, destinationId }) => {
    const all = lanes.get(destinationId)?.rates ?? [];
    return [id, sumOf(all.filter((it) => it.sourceId === sourceId))] as const;
  });
  return {
    lanes: Object.fromEntries(lanes.entries().map(([id, status]) => [id, laneActivity(status)])),
    connections: Object.fromEntries(rates),
    suspensions: ownSuspensions(parts, workspaceId),
    ...healthOf(parts),
  };
}

export type Health = Pick<Activity, "troubles" | "warnings">;

/** How this node is, in sentences. */
function healthOf({ ready }: Pick<Parts, "ready">): Health {
  const { checks, warnings } = ready();
  const failing = Object.entries(checks).filter(([, { ok }]) => !ok);
  const troubles = failing.map(([name, { message }]) => `${name}: ${message ?? "not ready"}`);
  return { troubles, warnings };
}

function ownSuspensions(parts: Parts, workspaceId: string): Suspension[] {
  const shown = parts.suspensions(workspaceId).slice(0, SUSPENSIONS_SHOWN_MAX);
  return shown.map((it) => ({ ...it, reason: it.reason.slice(0, REASON_CHARS_MAX) }));
}

function laneActivity({ rates, failure, ...status }: LaneStatus): LaneActivity {
  const reason = failure?.reason.slice(0, REASON_CHARS_MAX) ?? "";
  return { ...status, ...(failure && { failure: { ...failure, reason } }), rates: sumOf(rates) };
}

function merged(told: ReadonlyMap<string, Activity>): Activity {
  const all = [...told.values()];
  return {
    lanes: byId(
      all.map(({ lanes }) => lanes),
      mergedLanes,
    ),
    connections: byId(
      all.map(({ connections }) => connections),
      sumOf,
    ),
    suspensions: latest(all.flatMap(({ suspensions }) => suspensions)),
    troubles: toldOnce(told, ({ troubles }) => troubles),
    warnings: toldOnce(told, ({ warnings }) => warnings),
  };
}

/** What all nodes tell is told once; of the rest it is told whose it is. */
export function toldOnce<T>(
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

function byId<T>(
  all: readonly Record<string, T>[],
  join: (values: readonly T[]) => T,
): Record<string, T> {
  const groups = Map.groupBy(all.flatMap(Object.entries<T>), ([id]) => id);
  return Object.fromEntries(
    groups.entries().map(([id, entries]) => [id, join(entries.map(([, value]) => value))]),
  );
}

/** A destination has lanes at several nodes. A receiver that fails for one of them fails. */
function mergedLanes(lanes: readonly LaneActivity[]): LaneActivity {
  const failure = lanes.flatMap((lane) => lane.failure ?? []).sort(byUrgency)[0];
  return {
    lagEvents: lanes.reduce((sum, { lagEvents }) => sum + lagEvents, 0),
    lagSeconds: Math.max(...lanes.map(({ lagSeconds }) => lagSeconds)),
    isWaiting: lanes.some(({ isWaiting }) => isWaiting),
    ...(failure && { failure }),
    rates: sumOf(lanes.map(({ rates }) => rates)),
  };
}

type Failure = NonNullable<LaneStatus["failure"]>;

const byUrgency = (one: Failure, other: Failure) =>
  Number(other.isDown) - Number(one.isDown) || one.since - other.since;

function sumOf(all: readonly Rates[]): Rates {
  const sum = (key: keyof Rates) => all.reduce((total, rates) => total + rates[key], 0);
  return {
    received: sum("received"),
    delivered: sum("delivered"),
    dropped: sum("dropped"),
    failed: sum("failed"),
  };
}

/** Code is suspended at each node that runs it: the last end counts. */
function latest(suspensions: readonly Suspension[]): Suspension[] {
  const groups = Map.groupBy(suspensions, (it) => it.transformationVersionId).values();
  return [...groups].map((of) => of.reduce((one, it) => (it.until > one.until ? it : one)));
}
