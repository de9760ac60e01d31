import type { Connection, Destination } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";

/**
 * A destination and its connections by source id. They decide which events the destination gets.
 */
export interface Routes {
  destination: Destination;
  bySource: ReadonlyMap<string, Connection>;
}

export function createRoutes(destination: Destination, connections: readonly Connection[]): Routes {
  return { destination, bySource: new Map(connections.map((c) => [c.sourceId, c])) };
}

/**
 * Whether the connection delivers the log record. It does if the record was accepted in one of the
 * connection's live periods (times in which it delivers).
 */
export function covers(connection: Connection, log: string, sequence: number): boolean {
  if (isWithin(connection.from, connection.until, log, sequence)) return true;
  return (connection.earlier ?? []).some((w) => isWithin(w.from, w.until, log, sequence));
}

function isWithin(from: Positions, until: Positions | undefined, log: string, sequence: number) {
  if (sequence < (from[log] ?? 0)) return false;
  return until === undefined || sequence < (until[log] ?? 0);
}

/**
 * Whether the connection's live periods (times in which it delivers) include any sequence number
 * from `from` to `to` - 1.
 */
export function coversSome(connection: Connection, log: string, from: number, to: number): boolean {
  return [connection, ...(connection.earlier ?? [])].some((period) => {
    const end = period.until === undefined ? to : (period.until[log] ?? 0);
    return Math.max(from, period.from[log] ?? 0) < Math.min(to, end);
  });
}

/**
 * Returns the sequence number from which the connection delivers records of a log: the earliest
 * start of its live periods. If `known` is given, live periods that began at these positions or
 * earlier are left out. Returns Infinity when no live period is left.
 */
export function firstCovered(connection: Connection, log: string, known?: Positions): number {
  const windows = [connection, ...(connection.earlier ?? [])];
  const newer = windows.filter(({ from }) => known === undefined || isAfter(from, known));
  return Math.min(...newer.map(({ from }) => from[log] ?? 0));
}

/**
 * Returns the start of a connection's latest live period (time in which it delivers); undefined
 * when the connection was never live. Ignores the last period if it ended where it began, because
 * another period may begin at the same positions.
 */
export function latestStart({ from, until, earlier = [] }: Connection): Positions | undefined {
  return until === undefined || isAfter(until, from) ? from : earlier.at(-1)?.from;
}

/**
 * Whether `positions` are later than `known`. Each holds the ends of all logs at one moment. Ends
 * only grow: if one end in `positions` is higher than in `known`, `positions` are later.
 */
function isAfter(positions: Positions, known: Positions): boolean {
  return Object.entries(positions).some(([log, end]) => end > (known[log] ?? 0));
}

/**
 * The decision about an event: deliver it (`send`), neither deliver it nor count it as delivered,
 * dropped or failed (`discard`), or make it a dead letter without an attempt to deliver it
 * (`refused`).
 */
export type RouteDecision =
  | { kind: "send" }
  | { kind: "discard" }
  | { kind: "refused"; reason: string };

const send: RouteDecision = { kind: "send" };
const discard: RouteDecision = { kind: "discard" };
const destinationDisabled: RouteDecision = { kind: "refused", reason: "Destination is disabled" };
const connectionDisabled: RouteDecision = { kind: "refused", reason: "Connection is disabled" };

/**
 * Decides whether a log record is delivered, given the current connections and the id of the
 * connection for which it was read.
 */
export function decideRoute(
  { destination, bySource }: Routes,
  sourceId: string,
  taken: { log: string; sequence: number; connectionId: string },
): RouteDecision {
  const connection = bySource.get(sourceId);
  if (connection?.id !== taken.connectionId) return discard;
  // The record was taken just before the connection stopped being live, and need not be delivered.
  if (!covers(connection, taken.log, taken.sequence)) return discard;
  if (!destination.enabled) return destinationDisabled;
  return connection.enabled ? send : connectionDisabled;
}

/**
 * Decides about a replayed event: it is sent if the destination is enabled, and refused otherwise.
 * A connection is not needed.
 */
export function decideReplay({ destination }: Routes): RouteDecision {
  return destination.enabled ? send : destinationDisabled;
}

/**
 * Returns the sequence number of the first record that a lane (the delivery to one destination)
 * with the connections `connections` reads from a log.
 */
export function firstToRead(
  log: string,
  connections: readonly Connection[],
  logs: { end(log: string): number },
): number {
  // A lane without connections has only replays, and reads no log itself.
  if (connections.length === 0) return logs.end(log);
  return Math.min(...connections.map((connection) => firstCovered(connection, log)));
}
