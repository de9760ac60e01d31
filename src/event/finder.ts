import { PIXEL_TARGET_BYTES_MAX } from "../settings/limits.ts";
import { eventOf } from "./event.ts";
import { decodeRecord, type RawRecord, rawRecord } from "./record.ts";
import { AMPERSAND, PERCENT, PLUS } from "./text/bytes.ts";
import { percentDecode } from "./text/percent.ts";

/** Conditions of a search for events. An event must meet all conditions that are present. */
export interface EventQuery {
  /** Earliest time of receipt, in milliseconds since the epoch. */
  from?: number;
  /** Time before which the event was received, in milliseconds since the epoch. */
  to?: number;
  /** The messageId as the 16 bytes of its UUID. */
  messageId?: Uint8Array;
  userId?: string;
  anonymousId?: string;
  /** The name of a track event (its field `event`). */
  event?: string;
}

/**
 * Returns a function that checks whether an encoded record meets the query. For speed, it first
 * searches the record's raw text: every text of an event occurs in the decoded query string that
 * the client sent. It builds the event only when that search does not rule the record out.
 */
export function createFinder(
  query: EventQuery,
  isSource: (sourceId: string) => boolean,
): (record: Uint8Array) => boolean {
  const { from = -Infinity, to = Infinity, messageId, userId, anonymousId, event } = query;
  const texts = [userId, anonymousId, event].filter((text) => text !== undefined);
  const needles = texts.filter((text) => !text.includes(REPLACEMENT)).map((it) => Buffer.from(it));

  function hasKeys({ receivedAt, sourceId, messageId: id }: RawRecord): boolean {
    if (!(receivedAt >= from && receivedAt < to)) return false;
    if (messageId !== undefined && Buffer.compare(id, messageId) !== 0) return false;
    return isSource(sourceId.toString("latin1"));
  }

  function fits(record: Uint8Array): boolean {
    const found = eventOf(decodeRecord(record));
    if (userId !== undefined && found.userId !== userId) return false;
    if (anonymousId !== undefined && found.anonymousId !== anonymousId) return false;
    return event === undefined || found.name === event;
  }

  return (record) => {
    try {
      const raw = rawRecord(record);
      return hasKeys(raw) && mayHold(raw.query, needles) && fits(record);
    } catch {
      // The record is damaged or was written by another version. Lanes report such records.
      return false;
    }
  };
}

/** Character that replaces bytes that are not valid UTF-8. */
const REPLACEMENT = "\uFFFD";

function mayHold(query: Buffer, needles: readonly Buffer[]): boolean {
  if (needles.length === 0) return true;
  const isEncoded = query.includes(PERCENT) || query.includes(PLUS);
  const text = isEncoded ? decoded(query) : query;
  return needles.every((needle) => text.includes(needle));
}

/** Working memory for one search: a query string, a separator, and the decoded query string. */
const scratch = Buffer.alloc(2 * PIXEL_TARGET_BYTES_MAX + 1);

function decoded(query: Buffer): Buffer {
  const start = query.length + 1;
  scratch.set(query);
  // The decoder requires a separator after the query.
  scratch[query.length] = AMPERSAND;
  return scratch.subarray(start, Math.abs(percentDecode(scratch, 0, query.length, start)));
}
