import type { Positions } from "../../log/positions.ts";

/** A read cursor in one log, as the ledger stores it. */
export interface CursorRecord {
  /** Sequence number of the first record that was not read yet. */
  next: number;
  /**
   * Sequence numbers below `next` of records that were taken and have no final outcome yet,
   * ascending.
   */
  pending: number[];
}

/**
 * A batched delivery that may be in progress. Written before the delivery begins and removed after
 * it has ended, so that after a crash the same events are delivered again under the same name.
 */
export interface DeliveryIntent {
  name: string;
  /**
   * For each log, an exclusive bound: pending records with lower sequence numbers belong to the
   * delivery.
   */
  ends: Positions;
  /** Id of the last requeued dead letter in the delivery. Absent when the delivery has none. */
  letter?: string;
  /**
   * For each replay job and log, an exclusive bound: the job's pending records with lower sequence
   * numbers belong to the delivery.
   */
  replays?: Readonly<Record<string, Positions>>;
}

/** The state of a lane that the ledger stores and a restart resumes from. */
export interface LaneRecord {
  sealed?: DeliveryIntent;
  logs: Record<string, CursorRecord>;
  /**
   * Connections whose records the lane has taken, by id. The value is where the connection's
   * current live period begins in each log. After a restart it shows which periods have not been
   * read yet.
   */
  known: Record<string, Positions>;
}
