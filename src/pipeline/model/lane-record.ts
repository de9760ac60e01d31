import type { Positions } from "../../log/positions.ts";

/** A lane's cursor in one log, as the ledger stores it. */
export interface CursorRecord {
  /** Everything below this sequence number was taken. */
  next: number;
  /** Sequence numbers below `next` that have not settled, ascending. */
  pending: number[];
}

/**
 * A batched delivery that may be under way: written before it begins, removed when it has ended.
 */
export interface DeliveryIntent {
  name: string;
  /** By log: pending records below this position belong to the delivery. */
  ends: Positions;
  /** Requeued letters up to this id belong to the delivery. */
  letter?: string;
  /** By replay job and log: pending records below this position belong to the delivery. */
  replays?: Readonly<Record<string, Positions>>;
}

/** A lane's durable state. */
export interface LaneRecord {
  sealed?: DeliveryIntent;
  logs: Record<string, CursorRecord>;
  /**
   * Connections whose records are taken up to `next`: id → where the connection's live window
   * starts.
   */
  known: Record<string, Positions>;
}
