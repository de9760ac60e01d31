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
   * For each log, an exclusive upper bound: records with lower sequence numbers that have no final
   * outcome yet belong to the delivery.
   */
  ends: Positions;
  /** Id of the last requeued dead letter in the delivery. Absent when the delivery has none. */
  letter?: string;
  /**
   * For each replay job and log, an exclusive upper bound: the job's records with lower sequence
   * numbers that have no final outcome yet belong to the delivery.
   */
  replays?: Readonly<Record<string, Positions>>;
}

/**
 * The failure of all attempts of a lane that a restart must not forget; empty while the receiver
 * accepts events. Durations are stored instead of start times, because the clock of the next
 * process may differ.
 */
export interface FailureRecord {
  /** Milliseconds for which all attempts had failed, in this process and earlier ones. */
  outageMs?: number;
  /** Milliseconds for which the receiver had answered and refused every event. */
  refusedMs?: number;
  /** Reason of the last of these attempts. Absent in records of older versions. */
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
   * Connection id → start of the latest live period that the lane knows, as a position in each log.
   * A live period is a time in which a connection delivers. A period that began before the lane's
   * read position counts as known only after the lane has read the period's records below that
   * position. After a restart, the lane goes back to the start of periods that are not known.
   */
  known: Record<string, Positions>;
}

/**
 * Whether a lane stopped while it failed. Its working parts show the failure, so it does not rest.
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
