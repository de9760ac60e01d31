import type { Connection, Destination, Source } from "../catalog/model.ts";
import { OVERVIEW_ITEMS_MAX, PAGE_ITEMS_MAX } from "../limits.ts";
import type { LaneStatus } from "../pipeline/lane-status.ts";
import type { ApiParts, Suspension } from "./parts.ts";
import { isoTime } from "./transformation-answers.ts";

/**
 * What the sources, transformations and destinations of a workspace do at the moment, and what of
 * it needs a person.
 */

type Parts = Pick<ApiParts, "catalog" | "pipeline" | "suspensions" | "ready">;

export interface Rates {
  received: number;
  delivered: number;
  dropped: number;
  failed: number;
}

/** The states of a destination, the most pressing first: where several apply, the first counts. */
export const destinationStates = [
  "down",
  "failing",
  "suspended",
  "waiting",
  "paused",
  "unconnected",
  "ok",
] as const;

export interface Problem {
  kind:
    | "not-ready"
    | "warning"
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

interface Code {
  id: string;
  versionId: string;
  name: string;
  language: string;
  suspended?: { until: string; reason: string };
}

const none: Rates = { received: 0, delivered: 0, dropped: 0, failed: 0 };

export function overviewOf(parts: Parts, workspaceId: string) {
  const { catalog, pipeline } = parts;
  const sources = firstOf((page) => catalog.sources.list(workspaceId, page));
  const destinations = firstOf((page) => catalog.destinations.list(workspaceId, page));
  const connections = firstOf((page) => catalog.connections.list(workspaceId, page));
  const { code, codeOf } = linkedCode(parts, workspaceId, destinations.items);
  const lanes = new Map(destinations.items.map(({ id }) => [id, pipeline.status(id)]));
  const shownConnections = connections.items.map((it) => connectionOf(it, lanes));
  const shownDestinations = destinations.items.map((it) =>
    destinationOf(parts, it, { lane: lanes.get(it.id), code: codeOf.get(it.id) }),
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
    problems: problemsOf(parts, shownDestinations, code),
  };
}

/** The first items of a list, as many as one overview shows. */
function firstOf<T>(list: (page: number) => { items: T[]; total: number }) {
  const items: T[] = [];
  let total = 0;
  for (let page = 1; items.length < OVERVIEW_ITEMS_MAX; page += 1) {
    const found = list(page);
    total = found.total;
    items.push(...found.items);
    if (found.items.length < PAGE_ITEMS_MAX) break;
  }
  return { items, total };
}

/** The transformations that destinations have, each once. */
function linkedCode(parts: Parts, workspaceId: string, destinations: readonly Destination[]) {
  const { catalog } = parts;
  const suspended = new Map(
    parts.suspensions(workspaceId).map((it) => [it.transformationVersionId, it]),
  );
  const known = new Map<string, Code>();
  const codeOf = new Map<string, Code>();
  for (const { id: destinationId } of destinations) {
    const id = catalog.code.linkOf(workspaceId, destinationId);
    if (id === undefined) continue;
    const shown = known.get(id) ?? transformationOf(parts, workspaceId, id, suspended);
    known.set(id, shown);
    codeOf.set(destinationId, shown);
  }
  return { code: [...known.values()], codeOf };
}

function transformationOf(
  { catalog }: Parts,
  workspaceId: string,
  id: string,
  suspended: ReadonlyMap<string, Suspension>,
): Code {
  const { revision } = catalog.code.published(workspaceId, "transformation", id);
  const { versionId, name, language } = revision;
  const suspension = suspended.get(versionId);
  return {
    ...{ id, versionId, name, language },
    ...(suspension && {
      suspended: { until: isoTime(suspension.until), reason: suspension.reason },
    }),
  };
}

function sourceOf(
  { id, name, enabled }: Source,
  connections: readonly { sourceId: string; rates: Rates }[],
) {
  // Each connected destination counts the same events; one that is not behind has counted all of
  // them.
  const received = connections
    .filter((it) => it.sourceId === id)
    .map(({ rates }) => rates.received);
  return { id, name, enabled, receivedPerSecond: Math.max(0, ...received) };
}

function connectionOf(
  { id, sourceId, destinationId, enabled }: Connection,
  lanes: ReadonlyMap<string, LaneStatus | undefined>,
) {
  const rates = lanes.get(destinationId)?.rates.find((it) => it.sourceId === sourceId);
  return { id, sourceId, destinationId, enabled, rates: rates ? onlyRates(rates) : none };
}

function onlyRates({ received, delivered, dropped, failed }: Rates): Rates {
  return { received, delivered, dropped, failed };
}

function destinationOf(
  { pipeline }: Parts,
  { id, workspaceId, name, type, enabled }: Destination,
  { lane, code }: { lane: LaneStatus | undefined; code: Code | undefined },
) {
  const rates = lane?.rates ?? [];
  const sum = (of: keyof Rates) => rates.reduce((all, it) => all + it[of], 0);
  const { failure, lagEvents = 0, lagSeconds = 0 } = lane ?? {};
  return {
    ...{ id, name, type, enabled },
    ...(code && { transformationId: code.id }),
    state: stateOf(enabled, lane, code),
    ...(failure && { since: isoTime(failure.since), reason: failure.reason }),
    ...{ lagEvents, lagSeconds },
    rates: {
      received: sum("received"),
      delivered: sum("delivered"),
      dropped: sum("dropped"),
      failed: sum("failed"),
    },
    deadLetters: pipeline.deadLetters.count(workspaceId, { destinationId: id }),
  };
}

function stateOf(
  enabled: boolean,
  lane: LaneStatus | undefined,
  code: Code | undefined,
): (typeof destinationStates)[number] {
  if (!enabled) return "paused";
  if (lane === undefined) return "unconnected";
  if (lane.failure?.isDown) return "down";
  if (lane.failure) return "failing";
  if (code?.suspended) return "suspended";
  return lane.isWaiting ? "waiting" : "ok";
}

function problemsOf(
  parts: Parts,
  destinations: readonly ReturnType<typeof destinationOf>[],
  code: readonly Code[],
): Problem[] {
  const { checks, warnings } = parts.ready();
  const failing = Object.entries(checks).filter(([, { ok }]) => !ok);
  return [
    ...failing.map(([name, { message }]): Problem => {
      return { kind: "not-ready", message: `${name}: ${message ?? "not ready"}` };
    }),
    ...destinations.flatMap(destinationProblems),
    ...code.flatMap(({ id, name, suspended }): Problem[] => {
      if (suspended === undefined) return [];
      const message = `${name} only fails and is not run for a while: ${suspended.reason}`;
      return [{ kind: "suspended", message, transformationId: id }];
    }),
    ...warnings.map((message): Problem => ({ kind: "warning", message })),
  ];
}

function destinationProblems(destination: ReturnType<typeof destinationOf>): Problem[] {
  const { id: destinationId, name, state, since, reason, deadLetters } = destination;
  const problems: Problem[] = [];
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
