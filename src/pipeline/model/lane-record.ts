import type { Positions } from "../../log/positions.ts";

/** A lane's place in one log, as the ledger stores it. */
export interface CursorRecord {
  /** Everything below this sequence number was taken. */
  next: number;
  /** Sequence numbers below `next` that have not settled, ascending. */
  pending: number[];
}

/** A gathered delivery that may be under way: written before it begins, gone when it has ended. */
export interface DeliveryIntent {
  name: string;
  /** By log: records below that are pending are of this delivery. */
  ends: Positions;
  /** So are replays up to this letter. */
  letter?: string;
  /** So are, of each job that replays the log, its pending records below these, by log. */
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
