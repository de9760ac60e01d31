import { expect, test } from "bun:test";
import { KafkaAnswerError } from "../../src/kafka/bounded-reader.ts";
import { loadKafkaProtocol } from "../../src/kafka/library.ts";

const { Reader } = await loadKafkaProtocol();
const readerOf = (...bytes: number[]) => Reader.from(Buffer.from(bytes));
const item = (reader: InstanceType<typeof Reader>) => reader.readInt8();

test("a negative length or count is refused, except that of no value", () => {
  const [minusOne, minusTwo] = [
    [255, 255, 255, 255],
    [255, 255, 255, 254],
  ] as const;
  expect(readerOf(...minusOne).readNullableBytes(false)).toBeNull();
  expect(readerOf(255, 255).readNullableString(false)).toBeNull();
  expect(readerOf(...minusOne).readNullableArray(item, false, false)).toBeNull();
  expect(readerOf(1).readVarIntBytes()).toBeNull();
  for (const read of [
    () => readerOf(...minusTwo, 1, 2, 3).readNullableBytes(false),
    () => readerOf(255, 254, 1, 2, 3).readNullableString(false),
    () => readerOf(...minusTwo, 1, 2, 3).readNullableArray(item, false, false),
    () => readerOf(3, 1, 2, 3).readVarIntBytes(),
    () => readerOf(1, 2, 3).skip(-1),
  ]) {
    expect(read).toThrow(KafkaAnswerError);
  }
});

test("a length or count up to the bytes that are left is read, and no larger one", () => {
  expect([...readerOf(3, 7, 8).readNullableBytes()!]).toEqual([7, 8]);
  expect(readerOf(3, 7, 8).readNullableArray(item, true, false)).toEqual([7, 8]);
  expect(() => readerOf(4, 7, 8).readNullableBytes()).toThrow("Expected a length up to 2, got 3");
  expect(() => readerOf(4, 7, 8).readNullableArray(item, true, false)).toThrow("got 3");
});

test.each([
  [[0], 0],
  [[0x7f], 127],
  [[0x80, 0x01], 128],
  [[0xff, 0xff, 0xff, 0xff, 0x0f], 0xffff_ffff],
  [[0xff, 0xff, 0xff, 0xff, 0x1f], undefined],
  [[0x80, 0x80, 0x80, 0x80, 0x80, 0x00], undefined],
])("the bytes %j are the unsigned integer of 32 bits %p", (bytes, value) => {
  const reader = readerOf(...bytes, 9);
  if (value === undefined) {
    expect(() => reader.readUnsignedVarInt()).toThrow("Expected an integer of 32 bits");
    return;
  }
  expect([reader.readUnsignedVarInt(), reader.position]).toEqual([value, bytes.length]);
});

test.each([
  [[0], 0],
  [[1], -1],
  [[2], 1],
  [[0x81, 0x01], -65],
  [[0xfe, 0xff, 0xff, 0xff, 0x0f], 2 ** 31 - 1],
  [[0xff, 0xff, 0xff, 0xff, 0x0f], -(2 ** 31)],
])("the bytes %j are the integer %p", (bytes, value) => {
  expect(readerOf(...bytes).readVarInt()).toBe(value);
});

const nine = Array(9).fill(0xff);
test("an integer of 64 bits has at most ten bytes", () => {
  expect(readerOf(0x80, 0x01).readUnsignedVarInt64()).toBe(128n);
  expect(readerOf(...nine, 1).readUnsignedVarInt64()).toBe(2n ** 64n - 1n);
  expect(readerOf(...nine, 0x7f).readUnsignedVarInt64()).toBe(2n ** 64n - 1n);
  expect(() => readerOf(...nine, 0x80, 0).readUnsignedVarInt64()).toThrow(
    "Expected an integer of 64 bits",
  );
  expect([readerOf(1).readVarInt64(), readerOf(2).readVarInt64()]).toEqual([-1n, 1n]);
  expect(readerOf(...nine, 1).readVarInt64()).toBe(-(2n ** 63n));
});

test("texts, bytes, lists and maps are read in both of their forms", () => {
  const text = Buffer.from("é");
  expect(readerOf(3, ...text).readNullableString()).toBe("é");
  expect(readerOf(0, 2, ...text).readNullableString(false)).toBe("é");
  expect(readerOf(3, 0xc3, 0xa9).readNullableString(true, "latin1")).toBe("\u00c3\u00a9");
  expect([...readerOf(0, 0, 0, 2, 7, 8).readNullableBytes(false)!]).toEqual([7, 8]);
  expect([...readerOf(4, 7, 8).readVarIntBytes()!]).toEqual([7, 8]);
  expect(readerOf(0).readNullableString()).toBeNull();
  expect(readerOf(0).readNullableArray(item)).toBeNull();
  expect(readerOf(0, 0, 0, 2, 7, 8).readNullableArray(item, false, false)).toEqual([7, 8]);
  expect(readerOf(4, 7, 8).readVarIntArray(item)).toEqual([7, 8]);
  const entry = (reader: InstanceType<typeof Reader>): [number, number] => {
    return [reader.readInt8(), reader.readInt8()];
  };
  expect(readerOf(2, 1, 2, 0).readNullableMap(entry)).toEqual(new Map([[1, 2]]));
  expect(readerOf(0).readNullableMap(entry)).toBeNull();
  expect(readerOf(2, 1, 2).readVarIntMap(entry)).toEqual(new Map([[1, 2]]));
});

test("tagged fields are skipped, behind each item of a list and behind an answer", () => {
  const reader = readerOf(3, 7, 1, 5, 2, 9, 9, 8, 0, 6);
  expect(reader.readNullableArray(item)).toEqual([7, 8]);
  expect(reader.readInt8()).toBe(6);
  const fields = readerOf(2, 1, 0, 2, 1, 9);
  fields.readTaggedFields();
  expect(fields.remaining).toBe(0);
  expect(() => readerOf(2, 1, 0, 2).readTaggedFields()).toThrow("Expected a length up to 3, got 4");
  expect(() => readerOf(1, 1, 2, 9).readTaggedFields()).toThrow("Expected a length up to 1, got 2");
});

test("an item without bytes is refused, since a list of them has no bound", () => {
  expect(() => readerOf(3, 1, 1).readNullableArray(() => 0, true, false)).toThrow(
    "Expected an item with bytes",
  );
});

test("bytes are skipped up to the end", () => {
  const reader = readerOf(1, 2, 3);
  expect([reader.skip(3), reader.remaining]).toEqual([reader, 0]);
  expect(() => reader.skip(1)).toThrow("Expected a length up to 0, got 1");
  expect(reader.skip(0).position).toBe(3);
});
