import { copyOf, expectBytes, HEAD_BYTES, has, idAt, TIME_AT, typeIn } from "./head.ts";
import type { JsonRecord, JsonRecordReader } from "./json-record.ts";
import { decodeEnds, endOfEnds } from "./log-ends.ts";
import { unpackAddress } from "./packed-address.ts";
import { SIX_BIT_ID_BYTES, unpackSixBitId } from "./packed-source-id.ts";

/**
 * Offset of the first 4 bytes of a packed client address in a record of format version 3.
 *
 * This executable reads records of this version, but does not write them. The parts of a record,
 * whose numbers are little endian:
 *
 * version u8 · type and flags u8 · length of the source id u8 · length of the address u8 · first 4
 * bytes of a packed address · receivedAt f64 · rest of the address · source id · messageId · sentAt
 * · `after` · length of the refusal u8 and the refusal · event's JSON.
 *
 * `after` has the ends of all event logs except the record's own. The refusal is the reason why the
 * server refused the event. The flags say which of messageId, sentAt, `after` and refusal are
 * present. `sentAt` is stored as its difference to receivedAt (i32), or as a time (f64) if the
 * difference does not fit.
 */
const ADDRESS_AT = 4;

const HAS_ENDS = 8;
const HAS_MESSAGE_ID = 16;
const HAS_SENT_AT = 32;
const IS_REFUSED = 64;
const SENT_AT_IS_FAR = 128;

/** Length byte of a source id that is stored in packed form, in `SIX_BIT_ID_BYTES` bytes. */
const PACKED_ID = 255;
/**
 * The length byte of an address that is stored as text is this number plus the text's length. A
 * smaller length byte is the length of a packed address.
 */
const ADDRESS_TEXT = 32;

/** Flags of an encoded record, and the offsets of its parts. */
type JsonRecordParts = ReturnType<typeof partsOf>;

/**
 * Returns the offset of each part of a record. Throws `RangeError` when the record ends before its
 * JSON.
 */
function partsOf(buffer: Buffer) {
  expectBytes(buffer, HEAD_BYTES);
  const flags = buffer[1]!;
  const addressLength = buffer[3]!;
  const addressBytes =
    addressLength >= ADDRESS_TEXT ? addressLength - ADDRESS_TEXT : Math.max(0, addressLength - 4);
  const idLength = buffer[2]!;
  const source = HEAD_BYTES + addressBytes;
  const messageId = source + (idLength === PACKED_ID ? SIX_BIT_ID_BYTES : idLength);
  const sentAt = messageId + (has(flags, HAS_MESSAGE_ID) ? 16 : 0);
  const sentAtBytes = has(flags, SENT_AT_IS_FAR) ? 8 : 4;
  const ends = sentAt + (has(flags, HAS_SENT_AT) ? sentAtBytes : 0);
  const refusal = has(flags, HAS_ENDS) ? endOfEnds(buffer, ends) : ends;
  const json = refusal + (has(flags, IS_REFUSED) ? 1 + (buffer[refusal] ?? 0) : 0);
  expectBytes(buffer, json);
  return {
    flags,
    /**
     * Offset of the address if it is stored as text. Otherwise the offset of the rest of the packed
     * address, whose first 4 bytes are at `ADDRESS_AT`.
     */
    address: HEAD_BYTES,
    source,
    messageId,
    sentAt,
    ends,
    refusal,
    json,
  };
}

function decode(buffer: Buffer): JsonRecord {
  const parts = partsOf(buffer);
  const { flags } = parts;
  const receivedAt = buffer.readDoubleLE(TIME_AT);
  const { messageId, sentAt, ends, refusal, json } = parts;
  return {
    format: "json",
    type: typeIn(flags),
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
  if (buffer[2] === PACKED_ID) return unpackSixBitId(buffer, source);
  return buffer.toString("latin1", source, messageId);
}

export const jsonRecord3: JsonRecordReader = {
  decode,
  sourceId: (buffer) => sourceAt(buffer, partsOf(buffer)),
  searched(buffer) {
    const { flags, messageId, sentAt, json } = partsOf(buffer);
    const isMade = has(flags, HAS_MESSAGE_ID);
    return {
      json: buffer.subarray(json),
      messageId: isMade ? buffer.subarray(messageId, sentAt) : undefined,
    };
  },
  isRefused: (bytes) => has(bytes[1]!, IS_REFUSED),
};
