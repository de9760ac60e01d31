/**
 * The block: what one flush writes, and the unit of everything that can be lost.
 *
 *     magic u32 · bytes u32 · count u32 · crc32 u32 · firstSequence f64 · count × [length u32 · bytes]
 *     · zeros, or none
 *
 * Little endian. `bytes` counts what follows the header; the CRC covers all but magic and itself.
 */

import { assert } from "../assert.ts";
import type { LogRecord } from "./event-log.ts";

/**
 * Longest block on disk. This bound may grow but never shrink, since logs of earlier versions hold
 * blocks of this size.
 */
export const LOG_BLOCK_BYTES_MAX = 1 << 20;

/**
 * `F5 50 58 FF`. The bytes F5 and FF occur in no UTF-8 text, so no query that a client sends can
 * look like the start of a block when a damaged file is searched for the next one.
 */
const MAGIC = Buffer.from([0xf5, 0x50, 0x58, 0xff]);
const MAGIC_U32 = MAGIC.readUInt32LE(0);

/** Most records of a block. */
export const BLOCK_RECORDS_MAX = 8_192;

export const HEADER_BYTES = 24;
/** Bytes before each record in a block. */
export const RECORD_HEADER_BYTES = 4;

const AT_BYTES = 4;
const AT_COUNT = 8;
const AT_CRC = 12;
const AT_SEQUENCE = 16;

/** A whole block whose CRC was checked. */
export interface Block {
  /** Sequence number of the block's first record. */
  first: number;
  /** Sequence number after the block's last record. */
  end: number;
  /** Header and records. */
  bytes: Buffer;
}

/** Writes the header of a block whose records fill `buffer` from `HEADER_BYTES` to `end`. */
export function sealBlock(buffer: Buffer, end: number, first: number, count: number): void {
  assert(end <= buffer.length, "A block ends within its buffer");
  const bytesMin = HEADER_BYTES + count * RECORD_HEADER_BYTES;
  assert(count > 0 && bytesMin <= end, "The records that a block counts fit its bytes");
  buffer.writeUInt32LE(MAGIC_U32, 0);
  buffer.writeUInt32LE(end - HEADER_BYTES, AT_BYTES);
  buffer.writeUInt32LE(count, AT_COUNT);
  buffer.writeDoubleLE(first, AT_SEQUENCE);
  buffer.writeUInt32LE(checksum(buffer, 0, end), AT_CRC);
}

/**
 * The whole block at `offset`, or undefined when there is none: the bytes are damaged, the block is
 * cut short by the end of the window, or it is older than `sequenceMin` (the numbers of a segment's
 * blocks ascend).
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

/** Offset at which the next block may start, at `offset` or after it, or -1. */
export function findMagic(window: Buffer, offset: number): number {
  return window.indexOf(MAGIC, offset);
}

/** The records of a block; their bytes are views into it. */
export function recordsOf(block: Block): LogRecord[] {
  const records = new Array<LogRecord>(block.end - block.first);
  let offset = HEADER_BYTES;
  for (let i = 0; i < records.length; i++) {
    const start = offset + RECORD_HEADER_BYTES;
    offset = start + block.bytes.readUInt32LE(offset);
    assert(offset <= block.bytes.length, "The records of a block end within its bytes");
    records[i] = { sequence: block.first + i, bytes: block.bytes.subarray(start, offset) };
  }
  return records;
}

function checksum(buffer: Buffer, offset: number, end: number): number {
  const lengths = Bun.hash.crc32(buffer.subarray(offset + AT_BYTES, offset + AT_CRC));
  return Bun.hash.crc32(buffer.subarray(offset + AT_SEQUENCE, end), lengths);
}
