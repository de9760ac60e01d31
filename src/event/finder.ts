import { AMPERSAND, asBuffer, BACKSLASH, PERCENT, PLUS } from "../json/bytes.ts";
import { PIXEL_TARGET_BYTES_MAX } from "../settings/limits.ts";
import type { BuiltEvent } from "./built-event.ts";
import { type ContentFilter, contentMatcher } from "./content-filter.ts";
import { isRefusedRecord, jsonReaderOf } from "./record/json-records.ts";
import { pixelRecordParts } from "./record/pixel-record.ts";
import { type EventRecord, readRecord, sourceOfRecord, timeOfRecord } from "./record.ts";
import { percentDecode } from "./text/percent.ts";
import { uuidBytes } from "./uuid.ts";

/** Conditions of a search for events. An event must meet all conditions that are present. */
export interface EventQuery extends ContentFilter {
  /**
   * Finds only events that were received at or after this time, in milliseconds since the epoch.
   */
  from?: number;
  /** Finds only events that were received before this time, in milliseconds since the epoch. */
  to?: number;
  messageId?: string;
  /**
   * Finds only events that were refused on arrival (true), or only events that were not (false). If
   * absent, finds both.
   */
  isRefused?: boolean;
  userId?: string;
  anonymousId?: string;
  /** Finds only track events with this name (their field `event`). */
  event?: string;
}

/**
 * Returns a function that checks whether an encoded record meets the query and has a source
 * accepted by `isSource`; false if the record cannot be read. `eventOf` is called only for likely
 * matches.
 */
export function createFinder(
  query: EventQuery,
  isSource: (sourceId: string) => boolean,
  eventOf: (record: EventRecord) => BuiltEvent,
): (record: Uint8Array) => boolean {
  const { from = -Infinity, to = Infinity, isRefused } = query;
  const { messageId, userId, anonymousId, event } = query;
  const hasContent = contentMatcher(query);
  const texts = [userId, anonymousId, event].filter((text) => text !== undefined);
  const needles = texts.filter((text) => !text.includes(REPLACEMENT)).map((it) => Buffer.from(it));

  const uuid = messageId === undefined ? undefined : uuidBytes(messageId);
  const jsonNeedles = messageId === undefined ? needles : [...needles, Buffer.from(messageId)];

  function mayFit(record: Buffer): boolean {
    const receivedAt = timeOfRecord(record);
    if (!(receivedAt >= from && receivedAt < to)) return false;
    if (isRefused !== undefined && isRefused !== isRefusedRecord(record)) return false;
    const sourceId = sourceOfRecord(record);
    if (sourceId === undefined || !isSource(sourceId)) return false;
    const reader = jsonReaderOf(record);
    if (reader !== undefined) {
      const { json, messageId: made } = reader.searched(record);
      if (made === undefined) return mayHoldInJson(json, jsonNeedles);
      return isId(made) && mayHoldInJson(json, needles);
    }
    const { query: text, messageId: id } = pixelRecordParts(record);
    return isId(id) && mayHold(text, needles);
  }

  function isId(id: Uint8Array): boolean {
    return messageId === undefined || (uuid !== undefined && Buffer.compare(id, uuid) === 0);
  }

  function fits(record: Uint8Array): boolean {
    const decoded = readRecord(record);
    const found = eventOf(decoded);
    if (messageId !== undefined && decoded.messageId === undefined) {
      if (found.messageId !== messageId) return false;
    }
    if (userId !== undefined && found.userId !== userId) return false;
    if (anonymousId !== undefined && found.anonymousId !== anonymousId) return false;
    if (event !== undefined && found.name !== event) return false;
    return hasContent === undefined || hasContent(found.json);
  }

  return (record) => {
    try {
      const buffer = asBuffer(record);
      return mayFit(buffer) && fits(buffer);
    } catch {
      // The record is damaged or was written by another version. Lanes report such records.
      return false;
    }
  };
}

/**
 * Character that replaces invalid UTF-8 when an event is built. A text with this character is not
 * searched for in the bytes that the client sent, because they may have invalid UTF-8 in its place.
 */
const REPLACEMENT = "\uFFFD";

function mayHold(query: Buffer, needles: readonly Buffer[]): boolean {
  if (needles.length === 0) return true;
  const isEncoded = query.includes(PERCENT) || query.includes(PLUS);
  const text = isEncoded ? decoded(query) : query;
  return needles.every((needle) => text.includes(needle));
}

/**
 * Whether a JSON text may contain all strings in `needles`. True for each text with a backslash,
 * because any character may be escaped. Numbers must be written the same way: `1e3` does not
 * contain `1000`.
 */
function mayHoldInJson(json: Buffer, needles: readonly Buffer[]): boolean {
  return needles.every((needle) => json.includes(needle)) || json.includes(BACKSLASH);
}

/**
 * Working memory in which the query string of one pixel record is decoded. It contains the query
 * string, a separator, and the decoded query string.
 */
const scratch = Buffer.alloc(2 * PIXEL_TARGET_BYTES_MAX + 1);

function decoded(query: Buffer): Buffer {
  const start = query.length + 1;
  scratch.set(query);
  // The decoder requires a separator after the query.
  scratch[query.length] = AMPERSAND;
  return scratch.subarray(start, Math.abs(percentDecode(scratch, 0, query.length, start)));
}
