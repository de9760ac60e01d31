import { members, ORIGINAL_TIMESTAMP, SENT_AT, TIMESTAMP } from "./event-members.ts";
import { isIsoTime, timeAt } from "./iso-time.ts";

/** The times of an event, in milliseconds since the epoch. */
export interface EventTimes {
  /** The time of the event by the client's clock. */
  originalTimestamp: number;
  /** The time of sending by the client's clock. */
  sentAt: number;
  receivedAt: number;
  /** The time of the event that the SDK gave, or the client's time corrected by its clock error. */
  timestamp: number;
}

const times: EventTimes = { originalTimestamp: 0, sentAt: 0, receivedAt: 0, timestamp: 0 };

/**
 * Returns the times of the event whose members were found last, until the next call. A request
 * that was sent at `sentAt` by the client's clock arrived at `receivedAt` by the server's: the
 * difference corrects the client's time. `batchSentAt` is the `sentAt` of the batch.
 */
export function timesOf(
  bytes: Buffer,
  receivedAt: number,
  batchSentAt: number | undefined,
): EventTimes {
  const own = memberTime(bytes, TIMESTAMP);
  const sentAt = memberTime(bytes, SENT_AT) ?? batchSentAt ?? receivedAt;
  times.receivedAt = receivedAt;
  times.sentAt = isIsoTime(sentAt) ? sentAt : receivedAt;
  times.originalTimestamp = memberTime(bytes, ORIGINAL_TIMESTAMP) ?? own ?? times.sentAt;
  const corrected = receivedAt - (times.sentAt - times.originalTimestamp);
  times.timestamp = own ?? (isIsoTime(corrected) ? corrected : receivedAt);
  return times;
}

function memberTime(bytes: Buffer, member: number): number | undefined {
  return timeAt(bytes, members.starts[member]!, members.ends[member]!);
}
