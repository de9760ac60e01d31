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
 * after it has ended, so that after a crash the same events are delivered again under the same
 * name.
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
 * The stored state of a lane, which delivers one destination's events. A restart resumes from this
 * state.
 */
export interface LaneRecord {
  sealed?: DeliveryIntent;
  /**
   * Milliseconds for which all attempts of this and earlier processes have failed. Absent unless
   * the destination was failing at the commit. A duration and not a time, because the next process
   * may have another clock.
   */
  outageMs?: number;
  logs: Record<string, CursorRecord>;
  /**
   * Start of the live period (the time in which a connection delivers) that the lane read last, by
   * connection id, as a position in each log. After a restart, it shows which live periods have not
   * been read yet.
   */
  known: Record<string, Positions>;
}
