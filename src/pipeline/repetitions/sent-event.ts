import {
  decodeRecord,
  isJson,
  isRefusedRecord,
  type JsonRecord,
  type LogEnd,
  sourceOfRecord,
} from "../../event/record.ts";
import { loadText, stringText } from "../../json/json-scanner.ts";
import { ABSENT, memberSpans } from "../../json/member-names.ts";

/** An event with a messageId that its client made. */
export interface SentEvent {
  /** Sequence number of its record in the log. */
  sequence: number;
  sourceId: string;
  messageId: string;
  receivedAt: number;
  /** Ends of the other event logs when the event arrived; see `PixelRecord.after`. */
  after?: readonly LogEnd[] | undefined;
}

const member = memberSpans(["messageId"]);

/**
 * Returns the event of an encoded record if it has a messageId that its client made: the client may
 * then send it again. Returns undefined for other events, for refused ones, for records that cannot
 * be decoded, and for sources for which `isWanted` returns false.
 */
export function sentEvent(
  sequence: number,
  bytes: Uint8Array,
  isWanted: (sourceId: string) => boolean,
): SentEvent | undefined {
  if (!isJson(bytes) || isRefusedRecord(bytes)) return undefined;
  try {
    if (!isWanted(sourceOfRecord(bytes)!)) return undefined;
    const record = decodeRecord(bytes) as JsonRecord;
    if (record.messageId !== undefined) return undefined;
    const text = loadText(record.json);
    if (member.find(text, 0) < 0 || member.starts[0] === ABSENT) return undefined;
    const messageId = stringText(text, member.starts[0]!, member.ends[0]!);
    const { sourceId, receivedAt, after } = record;
    return { sequence, sourceId, messageId, receivedAt, after };
  } catch {
    // The lanes report a record that cannot be decoded.
    return undefined;
  }
}
