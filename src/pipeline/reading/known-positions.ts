import type { Live } from "../../catalog/live.ts";
import type { Connection } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LaneRecord } from "../model/lane-record.ts";

/**
 * Returns for each log the highest position in any stored state. A damaged or restored log that
 * ends before this position must number its new records from there on, because deliveries would
 * skip lower numbers as already read.
 */
export function knownPositions(
  live: Live,
  ledger: Pick<Ledger, "lanes" | "jobs" | "repetitions">,
): Positions {
  const known: Record<string, number> = {};
  const note = (positions: Positions) => {
    for (const [log, sequence] of Object.entries(positions)) {
      known[log] = Math.max(known[log] ?? 0, sequence);
    }
  };
  for (const { connections } of live.lanes()) connections.flatMap(positionsOf).forEach(note);
  for (const record of ledger.lanes()) positionsOfLane(record).forEach(note);
  note(ledger.repetitions.positions());
  for (const job of ledger.jobs.running()) if (job.kind === "events") note(job.ends);
  return known;
}

function positionsOf({ from, until = {}, earlier = [] }: Connection): Positions[] {
  return [from, until, ...earlier.map((window) => window.until)];
}

function positionsOfLane({ logs, known }: LaneRecord): Positions[] {
  const taken = Object.entries(logs).map(([log, { next }]) => [log, next] as const);
  return [Object.fromEntries(taken), ...Object.values(known)];
}
