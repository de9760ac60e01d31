import type { Positions } from "../../log/positions.ts";

/** A read position in one log, as the ledger (the store of delivery progress) holds it. */
export interface CursorRecord {
  /** Sequence number from which the next records will be read; all records below it were read. */
  next: number;
  /**
   * Sequence numbers, in ascending order, of records below `next` that were taken for delivery and
   * have no final outcome yet. After a restart, these records are read again.
   */
  pending: number[];
}

/**
 * A batched delivery (one delivery of many events) that may be in progress. Stored before the
 * delivery begins and until it ends, so that a restart repeats it with the same `name` and with all
 * of its events that have no final outcome.
 */
export interface DeliveryIntent {
  name: string;
  /**
   * Log → sequence number before which the delivery's records end. The delivery includes all
   * records with lower numbers that have no final outcome yet.
   */
  ends: Positions;
  /**
   * Highest id of the requeued dead letters in the delivery. The delivery includes all letters that
   * were requeued for the destination and have this id or a lower one. Absent when the delivery has
   * no letters.
   */
  letter?: string;
  /**
   * Replay job id → log → sequence number after the job's last record in this delivery. The
   * delivery includes all of the job's records with lower numbers that have no final outcome yet.
   */
  replays?: Readonly<Record<string, Positions>>;
}

/**
 * Duration and cause of the current failure of a lane (the delivery to one destination): all
 * attempts fail, or all events are refused. Start times are not stored, because the clock may
 * differ after a restart. All fields are absent while the destination's server accepts events.
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
   * Why the last attempt failed, if `outageMs` is present; otherwise, why the destination's server
   * refused all events of the last attempt. Absent when both durations are absent, and in records
   * that older versions of pixelmill stored.
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
   * Connection id → start of the connection's latest live period (a time in which it delivers), as
   * a position in each log. If it is before the lane's read position, the previous period's start
   * stays here until the lane has read the records in between, because a restart would otherwise
   * miss them.
   */
  known: Record<string, Positions>;
}

/**
 * Whether the lane with the stored state `record` was failing when it stopped. After a restart,
 * such a lane must not become a resting lane (idle, with little memory), because a resting lane
 * does not report failures.
 */
export function isFailing(record: LaneRecord | undefined): boolean {
  return (record?.outageMs ?? record?.refusedMs) !== undefined;
}

/**
 * Whether a lane's stored state (`stored`) is so close to the current state (the second argument)
 * that the current one need not be stored. All of these conditions must hold:
 * - `logs`, `known` and the name in `sealed` are equal.
 * - Both states have `refusedMs`, or neither has it.
 * - Neither state has `outageMs`, or the current `outageMs` is present and differs by less than
 *   `outageStepMs` from the stored one (0 if absent).
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
