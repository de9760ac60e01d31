import type { RecordCodec } from "../log/event-log.ts";

/**
 * A pixel request (an event sent as a GET request) as it is stored in the event log. The event that
 * is delivered is built from this record.
 */
export interface PixelRecord {
  type: "page" | "track";
  /** Time of receipt, in milliseconds since the epoch. */
  receivedAt: number;
  sourceId: string;
  /** The client's IP address as text; empty when addresses are not recorded. */
  clientAddress: string;
  /** The event's messageId: 16 random bytes of a version 4 UUID. */
  messageId: Uint8Array;
  /** The query string as the client sent it, without the `?`. ASCII characters only. */
  query: string;
  /**
   * Ends of the other event logs when the pixel arrived; absent when there are no other logs. They
   * order events across logs: the client may have sent this pixel after it got the response to a
   * pixel whose record is below these ends.
   */
  after?: readonly LogEnd[] | undefined;
}

/**
 * End of an event log: the log's number, and the sequence number after the log's last durable
 * record.
 */
export interface LogEnd {
  log: number;
  sequence: number;
}

/**
 * Version of the encoding of a record. Numbers are little endian:
 *
 * version u8, type u8, lengths of sourceId u8, clientAddress u8 and query u32,
 * receivedAt f64, messageId (16 bytes), then the three texts with one byte per character
 *
 * Version 2 adds the ends of other logs: their count u8, then for each its log number u16 and
 * sequence number f64.
 */
const VERSION = 1;
const VERSION_WITH_ENDS = 2;
const HEAD_BYTES = 32;
const TIME_AT = 8;
const END_BYTES = 10;
const ENDS_MAX = 255;
const TEXT_CHARS_MAX = 255;
const types = ["page", "track"] as const;

export const pixelRecordCodec: RecordCodec<PixelRecord> = {
  bytesMax(record) {
    const { sourceId, clientAddress, query, after } = record;
    const endsBytes = after === undefined ? 0 : 1 + END_BYTES * after.length;
    return HEAD_BYTES + sourceId.length + clientAddress.length + query.length + endsBytes;
  },
  encode(record, into, offset) {
    const { sourceId, clientAddress, messageId, query, after } = record;
    if (sourceId.length > TEXT_CHARS_MAX || clientAddress.length > TEXT_CHARS_MAX) {
      throw new RangeError(
        `Expected a source id and an address of at most ${TEXT_CHARS_MAX} bytes`,
      );
    }
    into[offset] = after === undefined ? VERSION : VERSION_WITH_ENDS;
    into[offset + 1] = record.type === "page" ? 0 : 1;
    into[offset + 2] = sourceId.length;
    into[offset + 3] = clientAddress.length;
    into.writeUInt32LE(query.length, offset + 4);
    into.writeDoubleLE(record.receivedAt, offset + TIME_AT);
    for (let i = 0; i < 16; i++) into[offset + 16 + i] = messageId[i]!;
    let at = offset + HEAD_BYTES;
    at += into.write(sourceId, at, "latin1");
    at += into.write(clientAddress, at, "latin1");
    at += into.write(query, at, "latin1");
    return after === undefined ? at : encodeEnds(after, into, at);
  },
};

function encodeEnds(ends: readonly LogEnd[], into: Buffer, offset: number): number {
  if (ends.length > ENDS_MAX) throw new RangeError(`Expected at most ${ENDS_MAX} other logs`);
  let at = into.writeUInt8(ends.length, offset);
  for (const { log, sequence } of ends) {
    at = into.writeUInt16LE(log, at);
    at = into.writeDoubleLE(sequence, at);
  }
  return at;
}

/** Parts of an encoded record. Byte arrays are views into the encoded record. */
export interface RawRecord {
  receivedAt: number;
  messageId: Buffer;
  sourceId: Buffer;
  query: Buffer;
}

export function rawRecord(bytes: Uint8Array): RawRecord {
  const buffer = asBuffer(bytes);
  const addressStart = HEAD_BYTES + buffer[2]!;
  const queryStart = addressStart + buffer[3]!;
  return {
    receivedAt: buffer.readDoubleLE(TIME_AT),
    messageId: buffer.subarray(16, HEAD_BYTES),
    sourceId: buffer.subarray(HEAD_BYTES, addressStart),
    query: buffer.subarray(queryStart, queryStart + buffer.readUInt32LE(4)),
  };
}

/**
 * Returns the time at which an encoded record was received, in milliseconds since the epoch; NaN
 * when the bytes are no valid record.
 */
export function timeOfRecord(bytes: Uint8Array): number {
  if (bytes.length < HEAD_BYTES) return Number.NaN;
  return new DataView(bytes.buffer, bytes.byteOffset).getFloat64(TIME_AT, true);
}

/** Decodes a record that `pixelRecordCodec` encoded. The result shares no memory with `bytes`. */
export function decodeRecord(bytes: Uint8Array): PixelRecord {
  const buffer = asBuffer(bytes);
  if (buffer.length < HEAD_BYTES) {
    throw new RangeError(`Expected a record of at least ${HEAD_BYTES} bytes, got ${buffer.length}`);
  }
  const hasEnds = buffer[0] === VERSION_WITH_ENDS;
  if (buffer[0] !== VERSION && !hasEnds) {
    throw new RangeError(
      `Expected a record of version ${VERSION} or ${VERSION_WITH_ENDS}, got ${buffer[0]}`,
    );
  }
  const type = types[buffer[1]!];
  if (type === undefined) throw new RangeError(`Expected record type 0 or 1, got ${buffer[1]}`);
  const addressStart = HEAD_BYTES + buffer[2]!;
  const queryStart = addressStart + buffer[3]!;
  const queryEnd = queryStart + buffer.readUInt32LE(4);
  const end = queryEnd + (hasEnds ? 1 + END_BYTES * (buffer[queryEnd] ?? 0) : 0);
  if (buffer.length !== end) {
    throw new RangeError(`Expected a record of ${end} bytes, got ${buffer.length}`);
  }
  lastSourceId = textAt(buffer, HEAD_BYTES, addressStart, lastSourceId);
  return {
    type,
    receivedAt: buffer.readDoubleLE(TIME_AT),
    sourceId: lastSourceId,
    clientAddress: buffer.toString("latin1", addressStart, queryStart),
    messageId: idOf(buffer),
    query: buffer.toString("latin1", queryStart, queryEnd),
    after: hasEnds ? decodeEnds(buffer, queryEnd) : undefined,
  };
}

/**
 * The source id of the record that was decoded last. Neighbouring records mostly have the same, and
 * a string that is used again need not be made and hashed again.
 */
let lastSourceId = "";

/** Returns the text between two offsets of `buffer`, which is `known` itself if it is equal. */
function textAt(buffer: Buffer, start: number, end: number, known: string): string {
  let isEqual = known.length === end - start;
  for (let at = start; isEqual && at < end; at++) {
    isEqual = buffer[at] === known.charCodeAt(at - start);
  }
  return isEqual ? known : buffer.toString("latin1", start, end);
}

/** Returns a copy of the messageId. A loop over 16 bytes is faster than a view and its copy. */
function idOf(buffer: Buffer): Uint8Array {
  const id = new Uint8Array(16);
  for (let i = 0; i < 16; i++) id[i] = buffer[16 + i]!;
  return id;
}

function asBuffer(bytes: Uint8Array): Buffer {
  if (bytes instanceof Buffer) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function decodeEnds(buffer: Buffer, start: number): LogEnd[] {
  const ends: LogEnd[] = [];
  for (let at = start + 1; at < buffer.length; at += END_BYTES) {
    ends.push({ log: buffer.readUInt16LE(at), sequence: buffer.readDoubleLE(at + 2) });
  }
  return ends;
}

/** Returns the source id of a record that `pixelRecordCodec` encoded. */
export function sourceOfRecord(bytes: Uint8Array): string {
  const buffer = asBuffer(bytes);
  return buffer.toString("latin1", HEAD_BYTES, HEAD_BYTES + (buffer[2] ?? 0));
}
