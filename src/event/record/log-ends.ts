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

/** Returns the encoded size of these ends in bytes; 0 when a record has none. */
export function endsBytes(ends: readonly LogEnd[] | undefined): number {
  return ends === undefined ? 0 : 1 + END_BYTES * ends.length;
}

/** Encodes the ends of logs: their count u8, then for each its log number u16 and sequence f64. */
export function encodeEnds(ends: readonly LogEnd[], into: Buffer, offset: number): number {
  if (ends.length > ENDS_MAX) throw new RangeError(`Expected at most ${ENDS_MAX} other logs`);
  let at = into.writeUInt8(ends.length, offset);
  for (const { log, sequence } of ends) {
    at = into.writeUInt16LE(log, at);
    at = into.writeDoubleLE(sequence, at);
  }
  return at;
}

/** Returns the offset after the ends that begin at `offset`. It may lie beyond the buffer. */
export function endOfEnds(buffer: Buffer, offset: number): number {
  return offset + 1 + END_BYTES * (buffer[offset] ?? 0);
}

/** Decodes the ends between two offsets. */
export function decodeEnds(buffer: Buffer, start: number, end: number): LogEnd[] {
  const ends: LogEnd[] = [];
  for (let at = start + 1; at < end; at += END_BYTES) {
    ends.push({ log: buffer.readUInt16LE(at), sequence: buffer.readDoubleLE(at + 2) });
  }
  return ends;
}
