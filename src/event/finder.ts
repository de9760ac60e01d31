import { PIXEL_TARGET_BYTES_MAX } from "../settings/limits.ts";
import { eventOf } from "./event.ts";
import { decodeRecord, type RawRecord, rawRecord } from "./record.ts";
import { AMPERSAND, PERCENT, PLUS } from "./text/bytes.ts";
import { percentDecode } from "./text/percent.ts";

/** Conditions of a search; an event must meet all that are given. */
export interface EventQuery {
  /** Received then or later, in milliseconds since the epoch. */
  from?: number;
  /** Received before. */
  to?: number;
  /** 16 bytes. */
  messageId?: Uint8Array;
  userId?: string;
  anonymousId?: string;
  /** The name of a track event. */
  event?: string;
}

/**
 * Returns a function that checks whether an encoded record meets the query. An event is built only
 * when the raw record does not rule it out: each text of the event is in the query that the client
 * sent, once decoded.
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
      // Another version wrote the record, or it is damaged: lanes report it.
      return false;
    }
  };
}

/** Replacement for bytes that are not UTF-8. */
const REPLACEMENT = "\uFFFD";

function mayHold(query: Buffer, needles: readonly Buffer[]): boolean {
  if (needles.length === 0) return true;
  const isEncoded = query.includes(PERCENT) || query.includes(PLUS);
  const text = isEncoded ? decoded(query) : query;
  return needles.every((needle) => text.includes(needle));
}

/** A query, a separator, and the query decoded. */
const scratch = Buffer.alloc(2 * PIXEL_TARGET_BYTES_MAX + 1);

function decoded(query: Buffer): Buffer {
  const start = query.length + 1;
  scratch.set(query);
  // The decoder takes the byte behind the query for a separator.
  scratch[query.length] = AMPERSAND;
  return scratch.subarray(start, Math.abs(percentDecode(scratch, 0, query.length, start)));
}
