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
   * The 16 bytes of a UUID that the server made, because the event has no messageId of its own;
   * undefined when it has one.
   */
  messageId: Uint8Array | undefined;
  /**
   * The member `sentAt` of the batch that the event arrived in, in milliseconds since the epoch.
   * Used only for an event that has no `sentAt` itself. Undefined when the batch has none.
   */
  sentAt: number | undefined;
  /** The event as the SDK sent it: the bytes of a valid JSON object. */
  json: Uint8Array;
  /**
   * Why the event was refused when it arrived; absent for other events. A refused event is never
   * delivered, and its `json` may be any valid JSON.
   */
  refused?: string | undefined;
}

/** Functions that read encoded records of one version. All throw `RangeError` for damaged ones. */
export interface JsonRecordReader {
  /** Decodes a record. The result shares no memory with `buffer`. */
  decode(buffer: Buffer): JsonRecord;
  sourceId(buffer: Buffer): string;
  /**
   * Returns the parts that a search reads: the JSON, and the messageId that the server made, which
   * is undefined when the event has its own. Both may share memory with `buffer`.
   */
  searched(buffer: Buffer): { json: Buffer; messageId: Uint8Array | undefined };
  /** Whether the event was refused when it arrived. */
  isRefused(bytes: Uint8Array): boolean;
}
