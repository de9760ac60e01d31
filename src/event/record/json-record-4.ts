import type { RecordCodec } from "../../log/event-log.ts";
import { isOfTime, restOfTimedId, TIMED_ID_REST_BYTES, timedId } from "../uuid.ts";
import { eventTypes } from "./event-type.ts";
import { copyOf, expectBytes, HEAD_BYTES, has, idAt, TIME_AT, typeIn } from "./head.ts";
import type { JsonRecord, JsonRecordReader } from "./json-record.ts";
import { denseEndsAt, denseEndsBytesMax, endOfDenseEnds, putDenseEnds } from "./log-ends.ts";
import { packAddress, unpackAddress } from "./packed-address.ts";
import { PACKED_ID_BYTES, packId, unpackId } from "./packed-source-id.ts";
import { putVarint, VARINT_BYTES_MAX, varintAt, varintEnd } from "./varint.ts";

/**
 * Version of the encoding. Numbers are little endian. The parts of a record:
 *
 * version u8 · type and flags u8 · first 6 bytes of the packed source id · receivedAt f64 · further
 * flags u8 · rest of the source id · address · messageId · sentAt · `after` (ends of the other
 * event logs) · length of the refusal u8 and the refusal · the event's JSON
 *
 * The refusal is the reason why the server refused the event. The parts from `address` to the
 * refusal are present only if the flags say so. The further flags are present only if the flag
 * `HAS_MORE` is set. A messageId that is a version 7 UUID of the time of receipt is stored without
 * its time. `sentAt` is stored as the difference to receivedAt.
 */
export const JSON_RECORD_VERSION = 4;
const ID_AT = 2;
const ID_HEAD_BYTES = TIME_AT - ID_AT;

const ADDRESS_BITS = 24;
const IPV4 = 8;
const IPV6 = 16;
const ADDRESS_TEXT = 24;
const HAS_MESSAGE_ID = 32;
const HAS_SENT_AT = 64;
const HAS_MORE = 128;

/**
 * Flag in the byte of further flags (present if `HAS_MORE` is set): the source id is stored as
 * text, not packed. A source id or an address that is stored as text begins with its length (u8).
 */
const SOURCE_IS_TEXT = 1;
const MESSAGE_ID_IS_WHOLE = 2;
/** Flag: `sentAt` is stored as a time (f64), not as its difference from receivedAt. */
const SENT_AT_IS_FAR = 4;
const HAS_ENDS = 8;
const IS_REFUSED = 16;

const TEXT_CHARS_MAX = 255;
const REFUSAL_BYTES_MAX = 255;

export const jsonRecordCodec: RecordCodec<JsonRecord> = {
  bytesMax({ sourceId, clientAddress, json, after, refused }) {
    const texts = 1 + Math.max(sourceId.length, PACKED_ID_BYTES) + 1 + clientAddress.length + 16;
    const times = 16 + VARINT_BYTES_MAX;
    const refusal = refused === undefined ? 0 : 1 + REFUSAL_BYTES_MAX;
    return HEAD_BYTES + 1 + texts + times + denseEndsBytesMax(after) + refusal + json.length;
  },
  encode(record, into, offset) {
    const { sourceId, messageId, receivedAt, json, after, refused } = record;
    const id = packId(sourceId);
    const isWhole = messageId !== undefined && !isOfTime(messageId, receivedAt);
    const isFar = record.sentAt !== undefined && !isNear(record.sentAt - receivedAt);
    let more = id === undefined ? SOURCE_IS_TEXT : 0;
    if (isWhole) more |= MESSAGE_ID_IS_WHOLE;
    if (isFar) more |= SENT_AT_IS_FAR;
    if (after !== undefined) more |= HAS_ENDS;
    if (refused !== undefined) more |= IS_REFUSED;

    into[offset] = JSON_RECORD_VERSION;
    let flags = eventTypes.indexOf(record.type) | (more === 0 ? 0 : HAS_MORE);
    into.writeDoubleLE(receivedAt, offset + TIME_AT);
    let at = offset + HEAD_BYTES;
    if (more !== 0) into[at++] = more;
    if (id === undefined) {
      into.fill(0, offset + ID_AT, offset + TIME_AT);
      at = putText(sourceId, into, at);
    } else {
      for (let i = 0; i < ID_HEAD_BYTES; i++) into[offset + ID_AT + i] = id[i]!;
      for (let i = ID_HEAD_BYTES; i < PACKED_ID_BYTES; i++) into[at++] = id[i]!;
    }
    if (record.clientAddress !== "") {
      const address = packAddress(record.clientAddress);
      flags |= address === undefined ? ADDRESS_TEXT : address.length === 4 ? IPV4 : IPV6;
      if (address === undefined) at = putText(record.clientAddress, into, at);
      else for (let i = 0; i < address.length; i++) into[at++] = address[i]!;
    }
    if (messageId !== undefined) {
      flags |= HAS_MESSAGE_ID;
      const bytes = isWhole ? messageId : restOfTimedId(messageId);
      for (let i = 0; i < bytes.length; i++) into[at++] = bytes[i]!;
    }
    if (record.sentAt !== undefined) {
      flags |= HAS_SENT_AT;
      if (isFar) at = into.writeDoubleLE(record.sentAt, at);
      else at = putVarint(zigzag(record.sentAt - receivedAt), into, at);
    }
    if (after !== undefined) at = putDenseEnds(after, into, at);
    if (refused !== undefined) {
      // `write` stops before a character that does not fit.
      const length = into.write(refused, at + 1, REFUSAL_BYTES_MAX, "utf8");
      into[at] = length;
      at += 1 + length;
    }
    into[offset + 1] = flags;
    into.set(json, at);
    return at + json.length;
  },
};

/**
 * Writes a string as its length (u8), followed by one byte for each character. Returns the offset
 * after it. Throws `RangeError` when the string has more than `TEXT_CHARS_MAX` characters.
 */
function putText(text: string, into: Buffer, offset: number): number {
  if (text.length > TEXT_CHARS_MAX) {
    throw new RangeError(`Expected a source id and an address of at most ${TEXT_CHARS_MAX} bytes`);
  }
  into[offset] = text.length;
  return offset + 1 + into.write(text, offset + 1, "latin1");
}

/** Whether a difference of two times is a signed 32-bit integer, so that `zigzag` is exact. */
const isNear = (difference: number): boolean => difference === (difference | 0);
/** Maps signed 32-bit integers to unsigned ones, so that numbers near 0 get small results. */
const zigzag = (difference: number): number => ((difference << 1) ^ (difference >> 31)) >>> 0;
const unzigzag = (value: number): number => (value >>> 1) ^ -(value & 1);

/** Flags of an encoded record, and the offsets of its parts. */
type JsonRecordParts = ReturnType<typeof partsOf>;

/**
 * Returns the offset of each part of a record. Throws `RangeError` when the record ends before its
 * JSON.
 */
function partsOf(buffer: Buffer) {
  expectBytes(buffer, HEAD_BYTES);
  const flags = buffer[1]!;
  const hasMore = has(flags, HAS_MORE);
  const more = hasMore ? buffer[HEAD_BYTES]! : 0;
  const source = HEAD_BYTES + (hasMore ? 1 : 0);
  const address = has(more, SOURCE_IS_TEXT)
    ? source + textBytes(buffer, source)
    : source + PACKED_ID_BYTES - ID_HEAD_BYTES;
  const messageId = address + addressBytes(buffer, flags, address);
  const messageIdBytes = has(more, MESSAGE_ID_IS_WHOLE) ? 16 : TIMED_ID_REST_BYTES;
  const sentAt = messageId + (has(flags, HAS_MESSAGE_ID) ? messageIdBytes : 0);
  let ends = sentAt;
  if (has(flags, HAS_SENT_AT)) {
    ends = has(more, SENT_AT_IS_FAR) ? sentAt + 8 : varintEnd(buffer, sentAt);
  }
  const refusal = has(more, HAS_ENDS) ? endOfDenseEnds(buffer, ends) : ends;
  const json = has(more, IS_REFUSED) ? refusal + textBytes(buffer, refusal) : refusal;
  expectBytes(buffer, json);
  return { flags, more, source, address, messageId, sentAt, ends, refusal, json };
}

/** Returns the number of bytes of a string at `offset`, including the byte with its length. */
const textBytes = (buffer: Buffer, offset: number): number => 1 + (buffer[offset] ?? 0);

function addressBytes(buffer: Buffer, flags: number, offset: number): number {
  switch (flags & ADDRESS_BITS) {
    case ADDRESS_TEXT:
      return textBytes(buffer, offset);
    case IPV4:
      return 4;
    case IPV6:
      return 16;
    default:
      return 0;
  }
}

function addressAt(buffer: Buffer, { flags, address, messageId }: JsonRecordParts): string {
  if (has(flags, IPV4) && has(flags, IPV6))
    return buffer.toString("latin1", address + 1, messageId);
  return address === messageId ? "" : unpackAddress(buffer.subarray(address, messageId));
}

/** Working memory in which `sourceAt` joins the two parts of a packed source id. */
const packed = new Uint8Array(PACKED_ID_BYTES);

function sourceAt(buffer: Buffer, { more, source, address }: JsonRecordParts): string {
  if (has(more, SOURCE_IS_TEXT)) return buffer.toString("latin1", source + 1, address);
  for (let i = 0; i < ID_HEAD_BYTES; i++) packed[i] = buffer[ID_AT + i]!;
  for (let i = ID_HEAD_BYTES; i < PACKED_ID_BYTES; i++) {
    packed[i] = buffer[source + i - ID_HEAD_BYTES]!;
  }
  return unpackId(packed);
}

function messageIdOf(buffer: Buffer, parts: JsonRecordParts): Uint8Array | undefined {
  const { flags, more, messageId } = parts;
  if (!has(flags, HAS_MESSAGE_ID)) return undefined;
  if (has(more, MESSAGE_ID_IS_WHOLE)) return idAt(buffer, messageId);
  return timedId(buffer.readDoubleLE(TIME_AT), buffer, messageId);
}

function sentAtOf(buffer: Buffer, { flags, more, sentAt }: JsonRecordParts, receivedAt: number) {
  if (!has(flags, HAS_SENT_AT)) return undefined;
  if (has(more, SENT_AT_IS_FAR)) return buffer.readDoubleLE(sentAt);
  return receivedAt + unzigzag(varintAt(buffer, sentAt));
}

export const jsonRecord4: JsonRecordReader = {
  decode(buffer) {
    const parts = partsOf(buffer);
    const { flags, more, ends, refusal, json } = parts;
    const receivedAt = buffer.readDoubleLE(TIME_AT);
    return {
      format: "json",
      type: typeIn(flags),
      receivedAt,
      sourceId: sourceAt(buffer, parts),
      clientAddress: addressAt(buffer, parts),
      messageId: messageIdOf(buffer, parts),
      sentAt: sentAtOf(buffer, parts, receivedAt),
      json: copyOf(buffer, json, buffer.length),
      after: has(more, HAS_ENDS) ? denseEndsAt(buffer, ends) : undefined,
      refused: has(more, IS_REFUSED) ? buffer.toString("utf8", refusal + 1, json) : undefined,
    };
  },
  sourceId: (buffer) => sourceAt(buffer, partsOf(buffer)),
  searched(buffer) {
    const parts = partsOf(buffer);
    return { json: buffer.subarray(parts.json), messageId: messageIdOf(buffer, parts) };
  },
  isRefused: (bytes) => has(bytes[1]!, HAS_MORE) && has(bytes[HEAD_BYTES]!, IS_REFUSED),
};
