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
