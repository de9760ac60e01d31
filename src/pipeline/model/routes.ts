import type { Connection, Destination } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";

/** The connections of one destination by source, which decide which events the destination gets. */
export interface Routes {
  destination: Destination;
  bySource: ReadonlyMap<string, Connection>;
}

export function createRoutes(destination: Destination, connections: readonly Connection[]): Routes {
  return { destination, bySource: new Map(connections.map((c) => [c.sourceId, c])) };
}

/** Whether the record was accepted while the connection was live. */
export function covers(connection: Connection, log: string, sequence: number): boolean {
  if (isWithin(connection.from, connection.until, log, sequence)) return true;
  return (connection.earlier ?? []).some((w) => isWithin(w.from, w.until, log, sequence));
}

function isWithin(from: Positions, until: Positions | undefined, log: string, sequence: number) {
  if (sequence < (from[log] ?? 0)) return false;
  return until === undefined || sequence < (until[log] ?? 0);
}

/**
 * The first sequence number of a log that the connection's live windows cover, of those windows
 * alone that began after `known`. Infinity when there is none.
 */
export function firstCovered(connection: Connection, log: string, known?: Positions): number {
  const windows = [connection, ...(connection.earlier ?? [])];
  const newer = windows.filter(({ from }) => known === undefined || isAfter(from, known));
  return Math.min(...newer.map(({ from }) => from[log] ?? 0));
}

/** Whether positions are later than `known`; both are the ends of all logs at some time. */
function isAfter(positions: Positions, known: Positions): boolean {
  return Object.entries(positions).some(([log, end]) => end > (known[log] ?? 0));
}

/**
 * Decision about an event that a connection covers. `refused`: it becomes a dead letter unsent.
 */
export type RouteDecision =
  | { kind: "send" }
  | { kind: "discard" }
  | { kind: "refused"; reason: string };

const send: RouteDecision = { kind: "send" };
const discard: RouteDecision = { kind: "discard" };
const destinationDisabled: RouteDecision = { kind: "refused", reason: "Destination is disabled" };
const connectionDisabled: RouteDecision = { kind: "refused", reason: "Connection is disabled" };

/** Decides about a record that was taken for a connection, by the current routes. */
export function decideRoute(
  { destination, bySource }: Routes,
  sourceId: string,
  taken: { log: string; sequence: number; connectionId: string },
): RouteDecision {
  const connection = bySource.get(sourceId);
  if (connection === undefined || connection.id !== taken.connectionId) return discard;
  // The record was taken just before the connection stopped being live, and is not owed.
  if (!covers(connection, taken.log, taken.sequence)) return discard;
  if (!destination.enabled) return destinationDisabled;
  return connection.enabled ? send : connectionDisabled;
}

/** Decides about a replay, which needs no connection. */
export function decideReplay({ destination }: Routes): RouteDecision {
  return destination.enabled ? send : destinationDisabled;
}
