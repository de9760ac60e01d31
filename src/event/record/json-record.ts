import type { RecordCodec } from "../../log/event-log.ts";
import { type EventType, eventTypes } from "./event-type.ts";
import { asBuffer, idAt, TIME_AT } from "./head.ts";
import { decodeEnds, encodeEnds, endOfEnds, endsBytes, type LogEnd } from "./log-ends.ts";
import { packAddress, unpackAddress } from "./packed-address.ts";
import { PACKED_ID_BYTES, packId, unpackId } from "./packed-source-id.ts";

/**
 * An event that an SDK sent as JSON, as it is stored in the event log. The event that is delivered
 * is built from this record.
 */
export interface JsonRecord {
  format: "json";
  type: EventType;
  /** Time of receipt, in milliseconds since the epoch. */
  receivedAt: number;
  sourceId: string;
  /** The client's IP address as text; empty when addresses are not recorded. */
  clientAddress: string;
  /**
   * The 16 bytes of a UUID that the server made, because the event has no messageId of its own;
   * undefined when it has one.
   */
  messageId: Uint8Array | undefined;
  /**
   * The member `sentAt` of the batch that the event arrived in, in milliseconds since the epoch.
   * Counts only for an event without its own. Undefined when there is none.
   */
  sentAt: number | undefined;
  /** The event as the SDK sent it: the bytes of a valid JSON object. */
  json: Uint8Array;
  /** Ends of the other event logs when the event arrived; see `PixelRecord.after`. */
  after?: readonly LogEnd[] | undefined;
  /**
   * Why the event was refused when it arrived; absent for other events. A refused event is never
   * delivered, and its `json` may be any valid JSON.
   */
  refused?: string | undefined;
}

/**
 * Version of the encoding. Numbers are little endian:
 *
 * version u8 · type and flags u8 · length of the source id u8 · length of the address u8 · first 4
 * bytes of a packed address · receivedAt f64 · rest of the address · source id · messageId ·
 * sentAt · ends of other logs · length of the refusal u8 and the refusal · the event's JSON
 *
 * The flags say which of messageId, sentAt, ends and refusal are present. `sentAt` is the
 * difference to receivedAt as i32, or an f64 where the difference is larger.
 */
export const JSON_RECORD_VERSION = 3;
export const JSON_HEAD_BYTES = 16;
const ADDRESS_AT = 4;

const TYPE_BITS = 7;
const HAS_ENDS = 8;
const HAS_MESSAGE_ID = 16;
const HAS_SENT_AT = 32;
const IS_REFUSED = 64;
const SENT_AT_IS_FAR = 128;

/** Length of a source id that is packed into `PACKED_ID_BYTES`. */
const PACKED_ID = 255;
/** A length of an address from here on is this number more than the bytes of its text. */
const ADDRESS_TEXT = 32;
const ID_CHARS_MAX = PACKED_ID - 1;
const ADDRESS_CHARS_MAX = 255 - ADDRESS_TEXT;
const REFUSAL_BYTES_MAX = 255;

export const jsonRecordCodec: RecordCodec<JsonRecord> = {
  bytesMax({ sourceId, clientAddress, json, after, refused }) {
    const texts = Math.max(sourceId.length, PACKED_ID_BYTES) + Math.max(clientAddress.length, 12);
    const refusal = refused === undefined ? 0 : 1 + REFUSAL_BYTES_MAX;
    return JSON_HEAD_BYTES + texts + 16 + 8 + endsBytes(after) + refusal + json.length;
  },
  encode(record, into, offset) {
    const { sourceId, clientAddress, messageId, receivedAt, sentAt, json, after, refused } = record;
    if (sourceId.length > ID_CHARS_MAX || clientAddress.length > ADDRESS_CHARS_MAX) {
      throw new RangeError(
        `Expected a source id of at most ${ID_CHARS_MAX} bytes and an address of at most ${ADDRESS_CHARS_MAX}`,
      );
    }
    let flags = eventTypes.indexOf(record.type);
    into[offset] = JSON_RECORD_VERSION;
    into.writeUInt32LE(0, offset + ADDRESS_AT);
    into.writeDoubleLE(receivedAt, offset + TIME_AT);
    let at = offset + JSON_HEAD_BYTES;

    const address = packAddress(clientAddress);
    if (address !== undefined) {
      into[offset + 3] = address.length;
      for (let i = 0; i < address.length; i++) {
        into[i < 4 ? offset + ADDRESS_AT + i : at++] = address[i]!;
      }
    } else {
      into[offset + 3] = ADDRESS_TEXT + clientAddress.length;
      at += into.write(clientAddress, at, "latin1");
    }

    const id = packId(sourceId);
    into[offset + 2] = id === undefined ? sourceId.length : PACKED_ID;
    if (id === undefined) at += into.write(sourceId, at, "latin1");
    else for (let i = 0; i < PACKED_ID_BYTES; i++) into[at++] = id[i]!;

    if (messageId !== undefined) {
      flags |= HAS_MESSAGE_ID;
      for (let i = 0; i < 16; i++) into[at++] = messageId[i]!;
    }
    if (sentAt !== undefined) {
      flags |= HAS_SENT_AT;
      const difference = sentAt - receivedAt;
      if (difference === (difference | 0)) at = into.writeInt32LE(difference, at);
      else {
        flags |= SENT_AT_IS_FAR;
        at = into.writeDoubleLE(sentAt, at);
      }
    }
    if (after !== undefined) {
      flags |= HAS_ENDS;
      at = encodeEnds(after, into, at);
    }
    if (refused !== undefined) {
      flags |= IS_REFUSED;
      // `write` ends before a character that does not fit.
      const length = into.write(refused, at + 1, REFUSAL_BYTES_MAX, "utf8");
      into[at] = length;
      at += 1 + length;
    }
    into[offset + 1] = flags;
    into.set(json, at);
    return at + json.length;
  },
};

/** Where the variable parts of an encoded record begin. */
interface JsonRecordParts {
  flags: number;
  /** Offset of the rest of the address. */
  address: number;
  source: number;
  messageId: number;
  sentAt: number;
  ends: number;
  refusal: number;
  json: number;
}

/** Finds the parts of an encoded record. Throws `RangeError` when it ends before its JSON. */
function partsOf(buffer: Buffer): JsonRecordParts {
  if (buffer.length < JSON_HEAD_BYTES) {
    throw new RangeError(
      `Expected a record of at least ${JSON_HEAD_BYTES} bytes, got ${buffer.length}`,
    );
  }
  const flags = buffer[1]!;
  const addressLength = buffer[3]!;
  const addressBytes =
    addressLength >= ADDRESS_TEXT ? addressLength - ADDRESS_TEXT : Math.max(0, addressLength - 4);
  const idLength = buffer[2]!;
  const source = JSON_HEAD_BYTES + addressBytes;
  const messageId = source + (idLength === PACKED_ID ? PACKED_ID_BYTES : idLength);
  const sentAt = messageId + (has(flags, HAS_MESSAGE_ID) ? 16 : 0);
  const sentAtBytes = has(flags, SENT_AT_IS_FAR) ? 8 : 4;
  const ends = sentAt + (has(flags, HAS_SENT_AT) ? sentAtBytes : 0);
  const refusal = has(flags, HAS_ENDS) ? endOfEnds(buffer, ends) : ends;
  const json = refusal + (has(flags, IS_REFUSED) ? 1 + (buffer[refusal] ?? 0) : 0);
  if (json > buffer.length) {
    throw new RangeError(`Expected a record of at least ${json} bytes, got ${buffer.length}`);
  }
  return { flags, address: JSON_HEAD_BYTES, source, messageId, sentAt, ends, refusal, json };
}

const has = (flags: number, flag: number): boolean => (flags & flag) !== 0;

/** Decodes a record. The result shares no memory with `bytes`. */
export function decodeJsonRecord(bytes: Uint8Array): JsonRecord {
  const buffer = asBuffer(bytes);
  const parts = partsOf(buffer);
  const { flags } = parts;
  const type = eventTypes[flags & TYPE_BITS];
  if (type === undefined)
    throw new RangeError(`Expected record type 0 to 5, got ${flags & TYPE_BITS}`);
  const receivedAt = buffer.readDoubleLE(TIME_AT);
  const { messageId, sentAt, ends, refusal, json } = parts;
  return {
    format: "json",
    type,
    receivedAt,
    sourceId: sourceAt(buffer, parts),
    clientAddress: addressAt(buffer, parts),
    messageId: has(flags, HAS_MESSAGE_ID) ? idAt(buffer, messageId) : undefined,
    sentAt: has(flags, HAS_SENT_AT) ? sentAtOf(buffer, sentAt, receivedAt, flags) : undefined,
    json: copyOf(buffer, json, buffer.length),
    after: has(flags, HAS_ENDS) ? decodeEnds(buffer, ends, refusal) : undefined,
    refused: has(flags, IS_REFUSED) ? buffer.toString("utf8", refusal + 1, json) : undefined,
  };
}

/** Returns a copy of the bytes between two offsets; `slice` of a Buffer would return a view. */
function copyOf(buffer: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  buffer.copy(copy, 0, start, end);
  return copy;
}

function sentAtOf(buffer: Buffer, at: number, receivedAt: number, flags: number): number {
  return has(flags, SENT_AT_IS_FAR) ? buffer.readDoubleLE(at) : receivedAt + buffer.readInt32LE(at);
}

function addressAt(buffer: Buffer, { address, source }: JsonRecordParts): string {
  const length = buffer[3]!;
  if (length >= ADDRESS_TEXT) return buffer.toString("latin1", address, source);
  if (length === 0) return "";
  if (length === 4) return unpackAddress(buffer.subarray(ADDRESS_AT, ADDRESS_AT + 4));
  if (length !== 16) throw new RangeError(`Expected an address of 4 or 16 bytes, got ${length}`);
  const first = buffer.subarray(ADDRESS_AT, ADDRESS_AT + 4);
  return unpackAddress(Buffer.concat([first, buffer.subarray(address, source)]));
}

function sourceAt(buffer: Buffer, { source, messageId }: JsonRecordParts): string {
  if (buffer[2] === PACKED_ID) return unpackId(buffer, source);
  return buffer.toString("latin1", source, messageId);
}

/** Returns the source id of an encoded record. */
export function sourceOfJsonRecord(buffer: Buffer): string {
  return sourceAt(buffer, partsOf(buffer));
}

/** Returns the JSON of an encoded record and the messageId that the server made, as views. */
export function jsonRecordParts(buffer: Buffer): { json: Buffer; messageId: Buffer | undefined } {
  const { flags, messageId, sentAt, json } = partsOf(buffer);
  const isMade = has(flags, HAS_MESSAGE_ID);
  return {
    json: buffer.subarray(json),
    messageId: isMade ? buffer.subarray(messageId, sentAt) : undefined,
  };
}

/** Whether an encoded record of any version is of an event that was refused at its ingestion. */
export function isRefusedRecord(bytes: Uint8Array): boolean {
  return bytes[0] === JSON_RECORD_VERSION && has(bytes[1]!, IS_REFUSED);
}
