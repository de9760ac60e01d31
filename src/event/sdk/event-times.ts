import { members, ORIGINAL_TIMESTAMP, SENT_AT, TIMESTAMP } from "./event-members.ts";
import { isIsoTime, timeAt } from "./iso-time.ts";

/** The times of an event, in milliseconds since the epoch. */
export interface EventTimes {
  /** When the event occurred, by the client's clock, which may be wrong. */
  originalTimestamp: number;
  /**
   * When the client sent the request, by the client's clock. Equal to `receivedAt` if the client
   * sent no valid `sentAt`.
   */
  sentAt: number;
  receivedAt: number;
  /**
   * When the event occurred: the `timestamp` that the client sent, without correction. If the
   * client sent none, `originalTimestamp`, corrected by the difference between the server's clock
   * (`receivedAt`) and the client's clock (`sentAt`).
   */
  timestamp: number;
}

const times: EventTimes = { originalTimestamp: 0, sentAt: 0, receivedAt: 0, timestamp: 0 };

/**
 * Returns the times of the event whose member offsets are in `members`. `batchSentAt` is used for
 * an event without its own `sentAt`. The next call overwrites the returned object.
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
