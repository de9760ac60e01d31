import type { EventType } from "./event-type.ts";
import type { PixelRecord } from "./pixel-record.ts";

/**
 * An event that an SDK sent as JSON, as it is stored in the event log. The event that is delivered
 * is built from this record.
 */
export interface JsonRecord
  extends Pick<PixelRecord, "receivedAt" | "sourceId" | "clientAddress" | "after"> {
  format: "json";
  type: EventType;
  /**
   * The 16 bytes of the UUID that the server made as messageId; undefined when the event in `json`
   * has a messageId of its own.
   */
  messageId: Uint8Array | undefined;
  /**
   * The member `sentAt` of the batch in which the event arrived, in milliseconds since the epoch;
   * undefined when the batch has none. It is used only for an event without its own `sentAt`.
   */
  sentAt: number | undefined;
  /** The event's JSON object as the SDK sent it, plus members that it inherits from its batch. */
  json: Uint8Array;
  /**
   * Why the server refused the event when it arrived; absent for an event that it accepted. A
   * refused event is never delivered, and its `json` can be any valid JSON, not only an object.
   */
  refused?: string | undefined;
}

/** Functions that read records of one format version. They throw `RangeError` if one is damaged. */
export interface JsonRecordReader {
  /** Decodes a record. The result shares no memory with `buffer`. */
  decode(buffer: Buffer): JsonRecord;
  sourceId(buffer: Buffer): string;
  /**
   * Returns the parts of a record that are examined in a search for events: the JSON, and the
   * messageId if the server made it. Both may share memory with `buffer`.
   */
  searched(buffer: Buffer): { json: Buffer; messageId: Uint8Array | undefined };
  /** Whether the event was refused when it arrived. */
  isRefused(bytes: Uint8Array): boolean;
}
