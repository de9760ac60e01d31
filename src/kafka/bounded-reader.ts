import type { Reader } from "@platformatic/kafka";

/**
 * Thrown when bytes from a broker are no valid response, because a length, a count or a position is
 * impossible.
 */
export class KafkaAnswerError extends Error {
  override readonly name = "KafkaAnswerError";
}

type ReadItem<T> = (reader: Reader, index: number) => T;

/** Maximum number of bytes of an encoded variable-length integer of 32 bits. */
const VARINT_BYTES_MAX = 5;
/** Maximum number of bytes of an encoded variable-length integer of 64 bits. */
const VARINT_64_BYTES_MAX = 10;
/** Minimum encoded size in bytes of a tagged field, which has at least a tag and a size. */
const TAGGED_FIELD_BYTES_MIN = 2;

/**
 * Methods that replace those of the Kafka library's `Reader`, because those trust each length in a
 * response. These methods throw `KafkaAnswerError` for a negative length, a length or number of
 * items beyond the remaining bytes, and an item of no bytes.
 */
export class BoundedReader {
  declare buffer: Reader["buffer"];
  declare position: number;

  get remaining(): number {
    return this.buffer.length - this.position;
  }

  skip(length: number): this {
    expectBytes(this, length);
    this.position += length;
    return this;
  }

  readUnsignedVarInt(): number {
    let value = 0;
    for (let count = 0; count < VARINT_BYTES_MAX; count++) {
      const byte = this.buffer.get(this.position++);
      value += (byte & 0x7f) * 2 ** (7 * count);
      if (byte < 0x80 && value <= 0xffffffff) return value;
    }
    throw new KafkaAnswerError("Expected an integer of 32 bits");
  }

  readUnsignedVarInt64(): bigint {
    let value = 0n;
    for (let count = 0n; count < VARINT_64_BYTES_MAX; count++) {
      const byte = this.buffer.get(this.position++);
      value += BigInt(byte & 0x7f) << (7n * count);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new KafkaAnswerError("Expected an integer of 64 bits");
  }

  readVarInt(): number {
    const value = this.readUnsignedVarInt();
    return (value >>> 1) ^ -(value & 1);
  }

  readVarInt64(): bigint {
    const value = this.readUnsignedVarInt64();
    return (value >> 1n) ^ -(value & 1n);
  }

  readNullableString(isCompact = true, encoding: BufferEncoding = "utf-8"): string | null {
    const length = readLength(this, isCompact, 2);
    return length === -1 ? null : takeBytes(this, length).toString(encoding);
  }

  readNullableBytes(isCompact = true): Buffer | null {
    const length = readLength(this, isCompact, 4);
    return length === -1 ? null : takeBytes(this, length);
  }

  readVarIntBytes(): Buffer | null {
    const length = this.readVarInt();
    return length === -1 ? null : takeBytes(this, length);
  }

  readNullableArray<T>(read: ReadItem<T>, isCompact = true, hasTags = true): T[] | null {
    const count = readLength(this, isCompact, 4);
    return count === -1 ? null : readItems(this, count, read, hasTags);
  }

  readNullableMap<K, V>(
    read: ReadItem<[K, V]>,
    isCompact = true,
    hasTags = true,
  ): Map<K, V> | null {
    const entries = this.readNullableArray(read, isCompact, hasTags);
    return entries && new Map(entries);
  }

  readVarIntArray<T>(read: ReadItem<T>): T[] {
    return readItems(this, this.readVarInt(), read, false);
  }

  readVarIntMap<K, V>(read: ReadItem<[K, V]>): Map<K, V> {
    return new Map(this.readVarIntArray(read));
  }

  readTaggedFields(): void {
    const count = this.readUnsignedVarInt();
    expectBytes(this, count * TAGGED_FIELD_BYTES_MIN);
    for (let index = 0; index < count; index++) {
      this.readUnsignedVarInt();
      this.skip(this.readUnsignedVarInt());
    }
  }
}

/**
 * Reads the length of a value or the item count of an array. Returns -1 for a null value or array.
 * The number has variable length if `isCompact` is true, otherwise `bytes` bytes.
 */
function readLength(reader: BoundedReader, isCompact: boolean, bytes: 2 | 4): number {
  if (isCompact) return reader.readUnsignedVarInt() - 1;
  const { buffer, position } = reader;
  reader.position += bytes;
  return bytes === 2 ? buffer.readInt16BE(position) : buffer.readInt32BE(position);
}

function takeBytes(reader: BoundedReader, length: number): Buffer {
  expectBytes(reader, length);
  const start = reader.position;
  reader.position += length;
  return reader.buffer.slice(start, reader.position);
}

function readItems<T>(
  reader: BoundedReader,
  count: number,
  read: ReadItem<T>,
  hasTags: boolean,
): T[] {
  // Each item has at least one byte, so there cannot be more items than bytes. The loop checks that
  // each item has one.
  expectBytes(reader, count);
  const items: T[] = [];
  for (let index = 0; index < count; index++) {
    const start = reader.position;
    items.push(read(reader as unknown as Reader, index));
    if (hasTags) reader.readTaggedFields();
    if (reader.position <= start) throw new KafkaAnswerError("Expected an item with bytes");
  }
  return items;
}

function expectBytes(reader: BoundedReader, length: number): void {
  if (length >= 0 && length <= reader.remaining) return;
  throw new KafkaAnswerError(`Expected a length up to ${reader.remaining}, got ${length}`);
}
