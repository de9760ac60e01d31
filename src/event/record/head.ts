import { type EventType, eventTypes } from "./event-type.ts";

const TYPE_BITS = 7;

/**
 * Offset of the time of receipt (f64, little endian) in an encoded record. It must be the same in
 * all format versions, because retention deletes even records that this executable cannot read.
 */
export const TIME_AT = 8;

/**
 * Number of bytes from the start of a record to the end of its time of receipt. It is the same in
 * all format versions.
 */
export const HEAD_BYTES = 16;

/**
 * Returns a copy of the 16-byte messageId at `offset`. Copies it byte by byte, which is faster than
 * copying a view.
 */
export function idAt(buffer: Uint8Array, offset: number): Uint8Array {
  const id = new Uint8Array(16);
  for (let i = 0; i < 16; i++) id[i] = buffer[offset + i]!;
  return id;
}

/** Returns a copy of the bytes between two offsets; `slice` of a Buffer would return a view. */
export function copyOf(buffer: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  buffer.copy(copy, 0, start, end);
  return copy;
}

/** Throws `RangeError` when a record has fewer than `least` bytes, because it is then damaged. */
export function expectBytes(record: Uint8Array, least: number): void {
  if (record.length < least) {
    throw new RangeError(`Expected a record of at least ${least} bytes, got ${record.length}`);
  }
}

/** Returns the event type whose number is in the lowest bits of `flags`, the flags of a record. */
export function typeIn(flags: number): EventType {
  const type = eventTypes[flags & TYPE_BITS];
  if (type === undefined)
    throw new RangeError(`Expected record type 0 to 5, got ${flags & TYPE_BITS}`);
  return type;
}

/** Whether the bit `flag` is set in `flags`. */
export const has = (flags: number, flag: number): boolean => (flags & flag) !== 0;
