/**
 * Format of a block. One flush of the log's writer writes one or more blocks, and damage to a file
 * loses whole blocks.
 *
 *     magic u32 · bytes u32 · count u32 · crc32 u32 · firstSequence f64
 *     count × [length u32 · record], then zeros
 *
 * Numbers are little endian. `bytes` is the size of everything after the header, including the
 * optional zeros at the end. The CRC covers the block except `magic` and the CRC itself.
 */

import { assert } from "../assert.ts";
import type { LogRecord } from "./event-log.ts";

/**
 * Largest size in bytes of a block on disk, header included. This bound may grow but must never
 * shrink: logs of earlier versions hold blocks of this size.
 */
export const LOG_BLOCK_BYTES_MAX = 1 << 20;

/**
 * First four bytes of every block. The bytes F5 and FF occur in no UTF-8 text. So text from a
 * client cannot look like the start of a block when a damaged file is searched for blocks.
 */
const MAGIC = Buffer.from([0xf5, 0x50, 0x58, 0xff]);
const MAGIC_U32 = MAGIC.readUInt32LE(0);

/** Largest number of records in one block. */
export const BLOCK_RECORDS_MAX = 8_192;

export const HEADER_BYTES = 24;
/** Size in bytes of the length field before each record in a block. */
export const RECORD_HEADER_BYTES = 4;

const AT_BYTES = 4;
const AT_COUNT = 8;
const AT_CRC = 12;
const AT_SEQUENCE = 16;

/** A block that was read from a log and has a correct checksum: a header followed by records. */
export interface Block {
  /** Sequence number of the block's first record. */
  first: number;
  /** Sequence number after the block's last record. */
  end: number;
  /** The bytes of the whole block: header, records, and zeros at the end. */
  bytes: Buffer;
}

/**
 * Writes the header of a block to the start of `buffer`. The records already lie in `buffer` from
 * `HEADER_BYTES` to `end`.
 */
export function sealBlock(buffer: Buffer, end: number, first: number, count: number): void {
  assert(end <= buffer.length, "A block ends within its buffer");
  const bytesMin = HEADER_BYTES + count * RECORD_HEADER_BYTES;
  assert(bytesMin <= end, "The records that a block counts fit its bytes");
  buffer.writeUInt32LE(MAGIC_U32, 0);
  buffer.writeUInt32LE(end - HEADER_BYTES, AT_BYTES);
  buffer.writeUInt32LE(count, AT_COUNT);
  buffer.writeDoubleLE(first, AT_SEQUENCE);
  buffer.writeUInt32LE(checksum(buffer, 0, end), AT_CRC);
}

/**
 * Returns the block that starts at `offset` in `window`, a part of a segment file. Returns
 * undefined if no complete, undamaged block starts there, or if its first sequence number is below
 * `sequenceMin`: then the block is left over from an earlier use of the file.
 */
export function blockAt(window: Buffer, offset: number, sequenceMin: number): Block | undefined {
  if (window.length - offset < HEADER_BYTES) return undefined;
  if (window.readUInt32LE(offset) !== MAGIC_U32) return undefined;
  const end = offset + HEADER_BYTES + window.readUInt32LE(offset + AT_BYTES);
  if (end > window.length || end - offset > LOG_BLOCK_BYTES_MAX) return undefined;
  if (window.readUInt32LE(offset + AT_CRC) !== checksum(window, offset, end)) return undefined;
  const first = window.readDoubleLE(offset + AT_SEQUENCE);
  if (!(first >= sequenceMin && Number.isSafeInteger(first))) return undefined;
  const count = window.readUInt32LE(offset + AT_COUNT);
  return { first, end: first + count, bytes: window.subarray(offset, end) };
}

/**
 * Returns the offset of the next `MAGIC` (the four bytes with which each block begins) in `window`,
 * at `offset` or after it; -1 when there is none.
 */
export function findMagic(window: Buffer, offset: number): number {
  return window.indexOf(MAGIC, offset);
}

/** Returns the records of a block. Each record's bytes are a view into the block, not a copy. */
export function recordsOf(block: Block): LogRecord[] {
  const records: LogRecord[] = [];
  let offset = HEADER_BYTES;
  for (let { first: sequence } = block; sequence < block.end; sequence++) {
    const start = offset + RECORD_HEADER_BYTES;
    offset = start + block.bytes.readUInt32LE(offset);
    assert(offset <= block.bytes.length, "The records of a block end within its bytes");
    records.push({ sequence, bytes: block.bytes.subarray(start, offset) });
  }
  return records;
}

function checksum(buffer: Buffer, offset: number, end: number): number {
  const lengths = Bun.hash.crc32(buffer.subarray(offset + AT_BYTES, offset + AT_CRC));
  return Bun.hash.crc32(buffer.subarray(offset + AT_SEQUENCE, end), lengths);
}
