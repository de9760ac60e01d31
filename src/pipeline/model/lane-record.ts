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
  /** Id of the last requeued dead letter in the delivery. Absent when the delivery has none. */
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
   * the receiver answers.
   */
  outageMs?: number;
  /**
   * Milliseconds for which the receiver has answered and refused every event. Absent while it
   * accepts events or does not answer.
   */
  refusedMs?: number;
  /**
   * Why the last attempt failed, or why the receiver refused its events. Absent when there is no
   * failure, and in records of older versions.
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
   * Connection id → start of the connection's latest live period (a time in which it delivers) that
   * the lane knows, as a position in each log. A period that began before the lane's read position
   * is known only after the lane has read the period's records below that position. After a
   * restart, the lane goes back to the start of each period that is not known.
   */
  known: Record<string, Positions>;
}

/**
 * Whether the lane with the stored state `record` was failing when it stopped. Such a lane does not
 * rest after a restart, because only its working parts show the failure.
 */
export function isFailing(record: LaneRecord | undefined): boolean {
  return (record?.outageMs ?? record?.refusedMs) !== undefined;
}

/**
 * Whether the ledger's record of a lane, `stored`, is up to date: it has the read positions `logs`,
 * the live periods `known`, the intent `sealed` of a batched delivery, the same kinds of failure,
 * and a length of the outage that differs from `outageMs` by less than `outageStepMs`.
 */
export function isStored(
  stored: LaneRecord | undefined,
  { logs, known, sealed, outageMs, refusedMs }: LaneRecord,
  outageStepMs = 1,
): boolean {
  const { outageMs: storedMs, refusedMs: storedRefusedMs } = stored ?? {};
  if ((storedRefusedMs === undefined) !== (refusedMs === undefined)) return false;
  if (outageMs === undefined && storedMs !== undefined) return false;
  if (Math.abs((storedMs ?? 0) - (outageMs ?? 0)) >= outageStepMs) return false;
  if (stored?.sealed?.name !== sealed?.name) return false;
  return Bun.deepEquals([stored?.logs ?? {}, stored?.known ?? {}], [logs, known]);
}
