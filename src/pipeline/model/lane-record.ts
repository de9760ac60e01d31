import type { Positions } from "../../log/positions.ts";

/** A read position in one log, as the ledger (the store of delivery progress) holds it. */
export interface CursorRecord {
  /** Sequence number of the first record that was not read yet. */
  next: number;
  /**
   * Ascending sequence numbers below `next` of records that were taken for delivery and have no
   * final outcome yet.
   */
  pending: number[];
}

/**
 * A batched delivery that may be in progress. It is stored before the delivery begins and removed
 * after the delivery has ended. After a crash, the delivery is therefore repeated with the same
 * `name` and with all of its events that have no final outcome.
 */
export interface DeliveryIntent {
  name: string;
  /**
   * Log → exclusive upper bound of the delivery's records. All records with lower sequence numbers
   * that have no final outcome yet belong to the delivery.
   */
  ends: Positions;
  /** Highest id of the requeued dead letters in the delivery. Absent when the delivery has none. */
  letter?: string;
  /**
   * Replay job id → log → exclusive upper bound of the delivery's replayed records. All records of
   * the job with lower sequence numbers that have no final outcome yet belong to the delivery.
   */
  replays?: Readonly<Record<string, Positions>>;
}

/**
 * How long all attempts of a lane have failed, and why. It is stored so that it survives a restart.
 * It is empty while the receiver (the destination's server) accepts events. It has durations
 * instead of start times, because the clock of the next process may differ.
 */
export interface FailureRecord {
  /**
   * Milliseconds for which every attempt has failed, in this process and earlier ones. Absent while
   * the destination's server answers.
   */
  outageMs?: number;
  /**
   * Milliseconds for which the destination's server has answered and refused every event. Absent
   * while it accepts events or does not answer.
   */
  refusedMs?: number;
  /**
   * Why the last attempt failed, or why the destination's server refused its events. Absent when
   * there is no failure, and in records that older versions of pixelmill stored.
   */
  reason?: string;
}

/**
 * The stored state of a lane, which delivers one destination's events. A restart resumes from this
 * state.
 */
export interface LaneRecord extends FailureRecord {
  sealed?: DeliveryIntent;
  logs: Record<string, CursorRecord>;
  /**
   * Connection id → start of the latest live period (a time in which the connection delivers) that
   * the lane knows, as a position in each log. A period that begins before the lane's read position
   * is entered only when the lane has read the older records. Until then, a restart reads these
   * records again.
   */
  known: Record<string, Positions>;
}

/**
 * Whether the lane with the stored state `record` was failing when it stopped. After a restart, a
 * failing lane does not become a resting lane (an idle lane that takes little memory), because a
 * resting lane does not report a failure.
 */
export function isFailing(record: LaneRecord | undefined): boolean {
  return (record?.outageMs ?? record?.refusedMs) !== undefined;
}

/**
 * Whether the ledger's record of a lane, `stored`, still agrees with the lane's current state.
 * Positions, live periods and interrupted delivery must be equal, and either both or neither must
 * have a refusal. If `stored` has an outage, it must still last. The stored length of the outage
 * may be wrong by less than `outageStepMs`.
 */
export function isStored(
  stored: LaneRecord | undefined,
  { logs, known, sealed, outageMs, refusedMs }: LaneRecord,
  outageStepMs = 1,
): boolean {
  const { outageMs: storedMs, refusedMs: storedRefusedMs } = stored ?? {};
  if ((storedRefusedMs === undefined) !== (refusedMs === undefined)) return false;
  if (outageMs === undefined && storedMs !== undefined) return false;
  if (outageMs !== undefined && Math.abs(outageMs - (storedMs ?? 0)) >= outageStepMs) return false;
  if (stored?.sealed?.name !== sealed?.name) return false;
  return Bun.deepEquals([stored?.logs ?? {}, stored?.known ?? {}], [logs, known]);
}
