import type { Connection, Destination, Positions } from "../catalog/model.ts";

/** The connections of one destination by source: which of their events it gets. */
export interface Routes {
  destination: Destination;
  bySource: ReadonlyMap<string, Connection>;
}

export function routesOf(destination: Destination, connections: readonly Connection[]): Routes {
  return { destination, bySource: new Map(connections.map((c) => [c.sourceId, c])) };
}

/** Whether the record at this place was accepted while the connection was live. */
export function covers(connection: Connection, log: string, sequence: number): boolean {
  if (isWithin(connection.from, connection.until, log, sequence)) return true;
  return (connection.earlier ?? []).some((w) => isWithin(w.from, w.until, log, sequence));
}

function isWithin(from: Positions, until: Positions | undefined, log: string, sequence: number) {
  if (sequence < (from[log] ?? 0)) return false;
  return until === undefined || sequence < (until[log] ?? 0);
}

/** The first sequence number of a log that the connection may cover. */
export function startOf(connection: Connection, log: string): number {
  const windows = [connection, ...(connection.earlier ?? [])];
  return Math.min(...windows.map(({ from }) => from[log] ?? 0));
}

/** What to do with an event that a connection covers; `refused` is owed and cannot be paid. */
export type Standing = { kind: "send" } | { kind: "discard" } | { kind: "refused"; reason: string };

const send: Standing = { kind: "send" };
const discard: Standing = { kind: "discard" };
const destinationDisabled: Standing = { kind: "refused", reason: "Destination is disabled" };
const connectionDisabled: Standing = { kind: "refused", reason: "Connection is disabled" };

/** `connectionId` is undefined for a replay, which needs no connection. */
export function standing(
  { destination, bySource }: Routes,
  sourceId: string,
  connectionId: string | undefined,
): Standing {
  const connection = bySource.get(sourceId);
  if (connectionId !== undefined && connection?.id !== connectionId) return discard;
  if (!destination.enabled) return destinationDisabled;
  return connectionId === undefined || connection?.enabled ? send : connectionDisabled;
}
