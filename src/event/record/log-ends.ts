import { putVarint, VARINT_BYTES_MAX, varintAt, varintEnd } from "./varint.ts";

/**
 * End of an event log: the log's number, and the sequence number after the log's last durable
 * record.
 */
export interface LogEnd {
  log: number;
  sequence: number;
}

const END_BYTES = 10;
const ENDS_MAX = 255;

/** Returns the number of bytes that `encodeEnds` writes for `ends`; 0 if `ends` is undefined. */
export function endsBytes(ends: readonly LogEnd[] | undefined): number {
  return ends === undefined ? 0 : 1 + END_BYTES * ends.length;
}

/** Encodes the number of ends (u8), then each end: its log number (u16) and sequence (f64). */
export function encodeEnds(ends: readonly LogEnd[], into: Buffer, offset: number): number {
  if (ends.length > ENDS_MAX) throw new RangeError(`Expected at most ${ENDS_MAX} other logs`);
  let at = into.writeUInt8(ends.length, offset);
  for (const { log, sequence } of ends) {
    at = into.writeUInt16LE(log, at);
    at = into.writeDoubleLE(sequence, at);
  }
  return at;
}

/**
 * Returns the offset after the list of log ends (see `LogEnd`) that `encodeEnds` wrote at `offset`.
 * In a damaged record, this offset can be greater than the length of `buffer`.
 */
export function endOfEnds(buffer: Buffer, offset: number): number {
  return offset + 1 + END_BYTES * (buffer[offset] ?? 0);
}

/** Decodes the ends that `encodeEnds` wrote between two offsets. */
export function decodeEnds(buffer: Buffer, start: number, end: number): LogEnd[] {
  const ends: LogEnd[] = [];
  for (let at = start + 1; at < end; at += END_BYTES) {
    ends.push({ log: buffer.readUInt16LE(at), sequence: buffer.readDoubleLE(at + 2) });
  }
  return ends;
}

/** Returns an upper bound for the bytes that `putDenseEnds` writes for `ends`; 0 if undefined. */
export function denseEndsBytesMax(ends: readonly LogEnd[] | undefined): number {
  return ends === undefined ? 0 : 1 + 2 * VARINT_BYTES_MAX * ends.length;
}

/** Writes the number of ends (u8), then each end: its log number and sequence as varints. */
export function putDenseEnds(ends: readonly LogEnd[], into: Buffer, offset: number): number {
  if (ends.length > ENDS_MAX) throw new RangeError(`Expected at most ${ENDS_MAX} other logs`);
  let at = into.writeUInt8(ends.length, offset);
  for (const { log, sequence } of ends) {
    at = putVarint(log, into, at);
    at = putVarint(sequence, into, at);
  }
  return at;
}

/**
 * Returns the offset after the list of log ends (see `LogEnd`) that `putDenseEnds` wrote at
 * `offset`. In a damaged record, this offset can be greater than the length of `buffer`.
 */
export function endOfDenseEnds(buffer: Buffer, offset: number): number {
  let at = offset + 1;
  for (let left = 2 * buffer[offset]!; left > 0; left--) at = varintEnd(buffer, at);
  return at;
}

/** Decodes the ends at `offset` that `putDenseEnds` wrote. */
export function denseEndsAt(buffer: Buffer, offset: number): LogEnd[] {
  const ends: LogEnd[] = [];
  let at = offset + 1;
  while (ends.length < buffer[offset]!) {
    const second = varintEnd(buffer, at);
    ends.push({ log: varintAt(buffer, at), sequence: varintAt(buffer, second) });
    at = varintEnd(buffer, second);
  }
  return ends;
}
