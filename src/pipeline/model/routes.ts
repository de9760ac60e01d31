import type { Connection, Destination } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";

/**
 * A destination and its connections, by source id. They decide which events the destination gets.
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
 * Returns the earliest start of the connection's live periods, as a sequence number in the log.
 * With `known`, considers only periods that began later than the positions `known`. Returns
 * Infinity when there is no such period.
 */
export function firstCovered(connection: Connection, log: string, known?: Positions): number {
  const windows = [connection, ...(connection.earlier ?? [])];
  const newer = windows.filter(({ from }) => known === undefined || isAfter(from, known));
  return Math.min(...newer.map(({ from }) => from[log] ?? 0));
}

/**
 * Returns the start of a connection's latest live period (time in which it delivers) that is not
 * empty; undefined if there is none. Empty periods are left out, because the next period may have
 * the same start.
 */
export function latestStart({ from, until, earlier = [] }: Connection): Positions | undefined {
  return until === undefined || isAfter(until, from) ? from : earlier.at(-1)?.from;
}

/**
 * Whether `positions` were read later than `known`. Each of the two holds the ends that all logs
 * had at one moment. Ends only grow, so a single end that is higher in `positions` shows this.
 */
function isAfter(positions: Positions, known: Positions): boolean {
  return Object.entries(positions).some(([log, end]) => end > (known[log] ?? 0));
}

/**
 * Decision about an event. `send`: deliver it. `refused`: make it a dead letter without an attempt
 * to deliver it. `discard`: do not deliver it, and do not count it as delivered, dropped or failed.
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
 * Decides whether a log record is delivered under the current connections. A lane (the delivery to
 * one destination) has read the record for the connection `taken.connectionId`. This connection may
 * have changed or ended since then.
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
 * Decides about a replayed event: `send` if the destination is enabled, otherwise `refused`. The
 * event needs no connection from its source to the destination.
 */
export function decideReplay({ destination }: Routes): RouteDecision {
  return destination.enabled ? send : destinationDisabled;
}

/**
 * Returns the sequence number at which a lane (the delivery to one destination) begins to read a
 * log when it has the connections `connections` and no stored position.
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
