import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  decodeRecord,
  type PixelRecord,
  pixelRecordCodec,
  timeOfRecord,
} from "../../src/event/record.ts";

const latin1 = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
});
const ends = fc.array(
  fc.record({
    log: fc.integer({ min: 0, max: 65_535 }),
    sequence: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  }),
  { maxLength: 255 },
);
const fields = {
  type: fc.constantFrom("page", "track"),
  receivedAt: fc.integer({ min: 0, max: 8_640_000_000_000_000 }),
  sourceId: latin1,
  clientAddress: fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant("")),
  messageId: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  query: latin1,
};
const record: fc.Arbitrary<PixelRecord> = fc.oneof(
  fc.record(fields),
  fc.record({ ...fields, after: ends }),
);

function encoded(value: PixelRecord): Uint8Array {
  const into = Buffer.alloc(pixelRecordCodec.bytesMax(value) + 7);
  return into.subarray(7, pixelRecordCodec.encode(value, into, 7));
}

describe("a pixel record", () => {
  test("is decoded as it was encoded", () => {
    fc.assert(fc.property(record, (value) => expect(decodeRecord(encoded(value))).toEqual(value)));
  });

  test("gives its time without being decoded", () => {
    fc.assert(
      fc.property(record, (value) => {
        expect(timeOfRecord(encoded(value))).toBe(value.receivedAt);
      }),
    );
    expect(timeOfRecord(new Uint8Array(7))).toBeNaN();
  });

  test("shares no memory with the bytes it was read from", () => {
    const value = fc.sample(record, 1)[0]!;
    const bytes = encoded(value);
    const read = decodeRecord(bytes);
    bytes.fill(0);
    expect(read).toEqual(value);
  });

  test("of other bytes is refused", () => {
    const value = { ...fc.sample(record, 1)[0]!, query: "abc" };
    const bytes = encoded(value);
    for (let end = 0; end < bytes.length; end++) {
      expect(() => decodeRecord(bytes.subarray(0, end))).toThrow(RangeError);
    }
    expect(() => decodeRecord(Buffer.concat([bytes, Buffer.of(0)]))).toThrow("bytes");
    expect(() => decodeRecord(Buffer.concat([Buffer.of(9), bytes.subarray(1)]))).toThrow(
      "version 1 or 2",
    );
    expect(() =>
      decodeRecord(Buffer.concat([bytes.subarray(0, 1), Buffer.of(2), bytes.subarray(2)])),
    ).toThrow("type");
  });

  test("holds texts of 255 bytes and 255 ends, and refuses more", () => {
    const text = "s".repeat(255);
    const after = Array.from({ length: 255 }, (_, log) => ({ log, sequence: 2 ** 40 + log }));
    const value = { ...fc.sample(record, 1)[0]!, sourceId: text, clientAddress: text, after };
    expect(decodeRecord(encoded(value))).toEqual(value);
    for (const more of [{ sourceId: `${text}s` }, { clientAddress: `${text}s` }]) {
      expect(() => encoded({ ...value, ...more })).toThrow("at most 255 bytes");
    }
    const another = { log: 255, sequence: 0 };
    expect(() => encoded({ ...value, after: [...after, another] })).toThrow("at most 255 other");
  });

  test("of a bare head is decoded, and a head that ends early is refused by its length", () => {
    const bytes = encoded({
      ...{ type: "page", receivedAt: 5, sourceId: "", clientAddress: "", query: "" },
      messageId: new Uint8Array(16),
    });
    expect(bytes.length).toBe(32);
    expect(decodeRecord(bytes).receivedAt).toBe(5);
    expect(() => decodeRecord(bytes.subarray(0, 31))).toThrow("at least 32 bytes, got 31");
    // Version 2 has one byte more, which counts the ends of other logs.
    const second = Buffer.concat([Buffer.of(2), bytes.subarray(1)]);
    expect(() => decodeRecord(second)).toThrow("Expected a record of");
    expect(decodeRecord(Buffer.concat([second, Buffer.of(0)])).after).toEqual([]);
    expect(() => decodeRecord(Buffer.concat([second, Buffer.of(1)]))).toThrow("of 43 bytes");
  });
});
