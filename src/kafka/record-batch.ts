import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { KafkaProtocol } from "./library.ts";
import type { ProducerId } from "./partition-queue.ts";

/** A record to write to a Kafka partition. */
export interface BatchRecord {
  /** Key of the record; absent if it has none. */
  key?: Uint8Array | undefined;
  value: Uint8Array;
  /** Names and values of the record's headers, alternating. */
  headers?: readonly string[];
  /**
   * Time of the record in milliseconds since the epoch. If absent, the record gets the `timestamp`
   * of the batch's first record. If the first record has none, it gets the `timestamp` given for
   * the whole batch.
   */
  timestamp?: number;
}

export interface RecordBatchOptions {
  producerId: ProducerId;
  /** Sequence number of the batch's first record. */
  sequence: number;
  compression: Compression;
  /**
   * Time in milliseconds since the epoch for records without a `timestamp`, unless the batch's
   * first record has one; undefined for no time. It should be the present time: if a batch with an
   * old time or none is sent again, the broker may append the batch twice.
   */
  timestamp?: number | undefined;
}

/**
 * How the records of a batch are compressed. With `zstd`, a batch stays uncompressed if it is
 * small, or if it would compress so well that readers would refuse it (see `ZSTD_RATIO_MAX`).
 */
export type Compression = "none" | "gzip" | "zstd";

const VERSION = 2;
const NO_TIMESTAMP = -1;
/** Number that stands for each compression algorithm in the attributes of a batch. */
const ALGORITHMS = { none: 0, gzip: 1, zstd: 4 };
const ZSTD_LEVEL = 1;
/**
 * Minimum size in bytes of a batch's records for compression with zstd. For fewer bytes,
 * compressing takes more CPU time than writing the smaller batch saves.
 */
const ZSTD_BYTES_MIN = 4_096;
/**
 * Maximum ratio of uncompressed to compressed size of a batch. A batch for which zstd would exceed
 * this ratio is sent uncompressed. The maximum is half of the ratio that readers accept
 * (`OUTPUT_RATIO_MAX` in `bounded-decompression.ts`).
 */
const ZSTD_RATIO_MAX = 100;
/** Size in bytes of a batch's header, which precedes its records. */
const HEAD_BYTES = 61;
/** Offset of the checksum in a batch. The checksum covers all bytes after it. */
const CHECKSUM_AT = 17;
const ATTRIBUTES_AT = 21;
/** Maximum encoded size in bytes of a variable-length integer. */
const NUMBER_BYTES_MAX = 10;
/**
 * Bytes reserved for a record's numbers: its length, its attributes, its time and offset deltas,
 * the lengths of key and value, and the number of headers.
 */
const RECORD_NUMBERS_BYTES = 7 * NUMBER_BYTES_MAX;
/** Maximum number of UTF-8 bytes per UTF-16 code unit of a string. */
const CHARACTER_BYTES = 3;

/**
 * Encodes records, at least one, as a record batch of Kafka's format 2. The Kafka library's encoder
 * takes three times the CPU time, and writes wrong times if records are more than 2^30 ms apart.
 */
export async function recordBatch(
  kafka: KafkaProtocol,
  records: readonly BatchRecord[],
  { producerId, sequence, compression, timestamp: time }: RecordBatchOptions,
): Promise<Buffer> {
  const first = records[0]!.timestamp ?? time ?? NO_TIMESTAMP;
  const body = new RecordWriter(records);
  let latest = first;
  for (const [index, record] of records.entries()) {
    const timestamp = record.timestamp ?? first;
    if (timestamp > latest) latest = timestamp;
    body.write(record, index, timestamp - first);
  }
  const packed = await compressed(body.bytes, compression);
  const encoded = packed ?? body.bytes;
  // The first 8 bytes are the offset, which the broker sets.
  encoded.fill(0, 0, 8);
  encoded.writeInt32BE(encoded.length - 12, 8);
  encoded.writeInt32BE(0, 12);
  encoded[16] = VERSION;
  encoded.writeInt16BE(ALGORITHMS[packed === undefined ? "none" : compression], ATTRIBUTES_AT);
  encoded.writeInt32BE(records.length - 1, 23);
  encoded.writeBigInt64BE(BigInt(first), 27);
  encoded.writeBigInt64BE(BigInt(latest), 35);
  encoded.writeBigInt64BE(producerId.producerId, 43);
  encoded.writeInt16BE(producerId.producerEpoch, 51);
  encoded.writeInt32BE(sequence, 53);
  encoded.writeInt32BE(records.length, 57);
  encoded.writeUInt32BE(kafka.crc32c(encoded.subarray(ATTRIBUTES_AT)), CHECKSUM_AT);
  return encoded;
}

const compress = promisify(gzip);

/** Returns the batch with its records compressed; undefined if it is to stay uncompressed. */
async function compressed(batch: Buffer, compression: Compression): Promise<Buffer | undefined> {
  if (compression === "none") return undefined;
  const records = batch.subarray(HEAD_BYTES);
  const isZstd = compression === "zstd";
  if (isZstd && records.length < ZSTD_BYTES_MIN) return undefined;
  // Compressing on this thread takes less CPU than handing the batch to another thread.
  const packed = isZstd
    ? Bun.zstdCompressSync(records, { level: ZSTD_LEVEL })
    : await compress(records);
  if (isZstd && packed.length * ZSTD_RATIO_MAX < records.length) return undefined;
  return Buffer.concat([batch.subarray(0, HEAD_BYTES), packed]);
}

/** Writes records to a buffer, after `HEAD_BYTES` that are reserved for the batch's header. */
class RecordWriter {
  #bytes: Buffer;
  #at = HEAD_BYTES;

  constructor(records: readonly BatchRecord[]) {
    let length = HEAD_BYTES;
    for (const record of records) length += bytesMaxOf(record);
    this.#bytes = Buffer.allocUnsafe(length);
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  write({ key, value, headers = [] }: BatchRecord, index: number, delay: number): void {
    // The length of a record precedes it, and is known only afterwards.
    const lengthAt = this.#at;
    const start = lengthAt + NUMBER_BYTES_MAX;
    // Attributes of a record are unused.
    this.#bytes[start] = 0;
    this.#at = start + 1;
    this.#number(delay);
    this.#number(index);
    if (key === undefined) this.#number(-1);
    else this.#sized(key);
    this.#sized(value);
    this.#number(headers.length / 2);
    for (const text of headers) this.#text(text);
    const end = this.#at;
    this.#at = lengthAt;
    this.#number(end - start);
    this.#bytes.copyWithin(this.#at, start, end);
    this.#at += end - start;
  }

  #sized(bytes: Uint8Array): void {
    this.#number(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #text(text: string): void {
    this.#number(Buffer.byteLength(text));
    this.#at += this.#bytes.write(text, this.#at);
  }

  /** Writes an integer, even above 32 bits, as a zigzag-encoded variable-length number. */
  #number(value: number): void {
    let left = value < 0 ? -2 * value - 1 : 2 * value;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) {
      this.#bytes[this.#at++] = (left % 0x80) | 0x80;
    }
    this.#bytes[this.#at++] = left;
  }
}

function bytesMaxOf({ key, value, headers = [] }: BatchRecord): number {
  let length = RECORD_NUMBERS_BYTES + (key?.length ?? 0) + value.length;
  for (const text of headers) length += NUMBER_BYTES_MAX + CHARACTER_BYTES * text.length;
  return length;
}
