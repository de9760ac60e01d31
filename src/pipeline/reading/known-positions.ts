import type { Live } from "../../catalog/live-view.ts";
import type { Connection } from "../../catalog/model.ts";
import type { Positions } from "../../log/positions.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LaneRecord } from "../model/lane-record.ts";

/**
 * The highest position in each event log that a lane, a connection or a replay refers to. A log
 * that
 * ends below it, because it was damaged or restored from an older copy, must continue from it: a
 * record with a lower number would count as taken.
 */
export function knownPositions(live: Live, ledger: Pick<Ledger, "lanes" | "jobs">): Positions {
  const known: Record<string, number> = {};
  const note = (positions: Positions) => {
    for (const [log, sequence] of Object.entries(positions)) {
      known[log] = Math.max(known[log] ?? 0, sequence);
    }
  };
  for (const { connections } of live.lanes()) connections.flatMap(positionsOf).forEach(note);
  for (const record of ledger.lanes()) positionsOfLane(record).forEach(note);
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
