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
 * The stored state of a lane, which delivers one destination's events. A restart resumes from this
 * state.
 */
export interface LaneRecord {
  sealed?: DeliveryIntent;
  /**
   * Milliseconds for which all attempts had failed when this record was made, in this process and
   * earlier ones. Absent if the destination was not failing then. A duration is stored instead of a
   * start time, because the clock of the next process may differ.
   */
  outageMs?: number;
  logs: Record<string, CursorRecord>;
  /**
   * Connection id → start of the latest live period that the lane knows, as a position in each log.
   * A live period is a time in which a connection delivers. A period that began before the lane's
   * read position counts as known only after the lane has read the period's records below that
   * position. After a restart, the lane goes back to the start of periods that are not known.
   */
  known: Record<string, Positions>;
}
