import { asBuffer } from "../../json/bytes.ts";
import type { RecordCodec } from "../../log/event-log.ts";
import { expectBytes, idAt, TIME_AT } from "./head.ts";
import { decodeEnds, encodeEnds, endOfEnds, endsBytes, type LogEnd } from "./log-ends.ts";

/**
 * A pixel request (an event sent as a GET request) as it is stored in the event log. The event that
 * is delivered is built from this record.
 */
export interface PixelRecord {
  /**
   * Never set. In a `JsonRecord`, this member is the string "json", which distinguishes the two
   * types.
   */
  format?: undefined;
  type: "page" | "track";
  /** Time of receipt, in milliseconds since the epoch. */
  receivedAt: number;
  sourceId: string;
  /** The client's IP address as text; empty when addresses are not recorded. */
  clientAddress: string;
  /** The event's messageId: 16 random bytes of a version 4 UUID. */
  messageId: Uint8Array;
  /** The client's query without `?`, in ASCII. The server may have appended `context.userAgent`. */
  query: string;
  /**
   * Ends of the other event logs when the pixel arrived; undefined when there are none. They order
   * events of different logs: a pixel of another log whose response the client had before sending
   * this one lies before that log's end.
   */
  after?: readonly LogEnd[] | undefined;
}

/**
 * Version of a record without `after`. Numbers are little endian. The parts of the record:
 *
 * version u8 · type u8 · lengths of sourceId u8, clientAddress u8 and query u32 · receivedAt f64 ·
 * messageId (16 bytes) · sourceId, clientAddress and query with one byte per character.
 *
 * A record with `after` (the ends of all event logs except the record's own) has version 2. The
 * ends follow the query: the number of ends (u8), then for each end its log number (u16) and
 * sequence number (f64).
 */
const VERSION = 1;
const VERSION_WITH_ENDS = 2;
export const PIXEL_HEAD_BYTES = 32;
/** Offset of the messageId in an encoded record. */
export const MESSAGE_ID_AT = 16;
const TEXT_CHARS_MAX = 255;
const types = ["page", "track"] as const;

export const pixelRecordCodec: RecordCodec<PixelRecord> = {
  bytesMax(record) {
    const { sourceId, clientAddress, query, after } = record;
    const texts = sourceId.length + clientAddress.length + query.length;
    return PIXEL_HEAD_BYTES + texts + endsBytes(after);
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
    for (let i = 0; i < 16; i++) into[offset + MESSAGE_ID_AT + i] = messageId[i]!;
    let at = offset + PIXEL_HEAD_BYTES;
    at += into.write(sourceId, at, "latin1");
    at += into.write(clientAddress, at, "latin1");
    at += into.write(query, at, "latin1");
    return after === undefined ? at : encodeEnds(after, into, at);
  },
};

/** Decodes a record that `pixelRecordCodec` encoded. The result shares no memory with `bytes`. */
export function decodePixelRecord(bytes: Uint8Array): PixelRecord {
  const { type, receivedAt, sourceId, clientAddress, messageId, query, after } =
    readPixelRecord(bytes);
  return { type, receivedAt, sourceId, clientAddress, messageId, query, after };
}

/**
 * A record in its encoded form. Its address, query and messageId are decoded only at each access,
 * because making strings of them would take a tenth of the time that delivering the event takes.
 */
export class EncodedPixelRecord implements PixelRecord {
  constructor(
    readonly type: PixelRecord["type"],
    readonly receivedAt: number,
    readonly sourceId: string,
    readonly bytes: Uint8Array,
    /** Offset of the client address. The address ends where the query starts. */
    readonly addressStart: number,
    /** Offset at which the query starts; `end` is the offset after the query. */
    readonly start: number,
    readonly end: number,
    readonly after: readonly LogEnd[] | undefined,
  ) {}

  get messageId(): Uint8Array {
    return idAt(this.bytes, MESSAGE_ID_AT);
  }

  get clientAddress(): string {
    return asBuffer(this.bytes).toString("latin1", this.addressStart, this.start);
  }

  get query(): string {
    return asBuffer(this.bytes).toString("latin1", this.start, this.end);
  }
}

/**
 * Returns a record that `pixelRecordCodec` encoded. Decodes its source id, but not its address and
 * query. The result shares no memory with `bytes`.
 */
export function readPixelRecord(bytes: Uint8Array): EncodedPixelRecord {
  const buffer = asBuffer(bytes);
  expectBytes(buffer, PIXEL_HEAD_BYTES);
  const hasEnds = buffer[0] === VERSION_WITH_ENDS;
  if (buffer[0] !== VERSION && !hasEnds) {
    throw new RangeError(
      `Expected a record of version ${VERSION} or ${VERSION_WITH_ENDS}, got ${buffer[0]}`,
    );
  }
  const type = types[buffer[1]!];
  if (type === undefined) throw new RangeError(`Expected record type 0 or 1, got ${buffer[1]}`);
  const addressStart = PIXEL_HEAD_BYTES + buffer[2]!;
  const queryStart = addressStart + buffer[3]!;
  const queryEnd = queryStart + buffer.readUInt32LE(4);
  const end = hasEnds ? endOfEnds(buffer, queryEnd) : queryEnd;
  if (buffer.length !== end) {
    throw new RangeError(`Expected a record of ${end} bytes, got ${buffer.length}`);
  }
  lastSourceId = textAt(buffer, PIXEL_HEAD_BYTES, addressStart, lastSourceId);
  const after = hasEnds ? decodeEnds(buffer, queryEnd, end) : undefined;
  const receivedAt = buffer.readDoubleLE(TIME_AT);
  // A copy, because the bytes are a view into a block.
  const copy = new Uint8Array(buffer);
  // biome-ignore format: the places of the parts stand in one line
  return new EncodedPixelRecord(
    type, receivedAt, lastSourceId, copy, addressStart, queryStart, queryEnd, after,
  );
}

/**
 * The source id of the record that was decoded last. Neighbouring records mostly have the same
 * source id, and reusing its string saves making and hashing a new one.
 */
let lastSourceId = "";

/**
 * Returns the text between two offsets of `buffer`. If `known` is equal to this text, returns the
 * string `known` and makes no new string.
 */
function textAt(buffer: Buffer, start: number, end: number, known: string): string {
  let isEqual = known.length === end - start;
  for (let at = start; isEqual && at < end; at++) {
    isEqual = buffer[at] === known.charCodeAt(at - start);
  }
  return isEqual ? known : buffer.toString("latin1", start, end);
}

/** Returns the source id of an encoded record. */
export function sourceOfPixelRecord(buffer: Buffer): string {
  return buffer.toString("latin1", PIXEL_HEAD_BYTES, PIXEL_HEAD_BYTES + buffer[2]!);
}

/** Returns the messageId and the query of an encoded record, as views into it. */
export function pixelRecordParts(buffer: Buffer): { messageId: Buffer; query: Buffer } {
  const queryStart = PIXEL_HEAD_BYTES + buffer[2]! + buffer[3]!;
  return {
    messageId: buffer.subarray(MESSAGE_ID_AT, PIXEL_HEAD_BYTES),
    query: buffer.subarray(queryStart, queryStart + buffer.readUInt32LE(4)),
  };
}
