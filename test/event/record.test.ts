import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newId } from "../../src/catalog/ids.ts";
import { jsonReaderOf } from "../../src/event/record/json-records.ts";
import { packAddress, unpackAddress } from "../../src/event/record/packed-address.ts";
import { packId, unpackId, unpackSixBitId } from "../../src/event/record/packed-source-id.ts";
import {
  decodeRecord,
  type EventRecord,
  eventRecordCodec,
  eventTypes,
  type JsonRecord,
  NewerRecordError,
  type PixelRecord,
  readRecord,
  recordBytes,
  sourceOfRecord,
  timeOfRecord,
} from "../../src/event/record.ts";
import { markTimed } from "../../src/event/uuid.ts";
import { RECORD_HEADER_BYTES } from "../../src/log/block.ts";

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
const pixel: fc.Arbitrary<PixelRecord> = fc.oneof(
  fc.record(fields),
  fc.record({ ...fields, after: ends }),
);
const sourceIds = fc.oneof(
  fc.string({
    unit: fc.constantFrom(..."0129ABYZabyz"),
    minLength: 27,
    maxLength: 27,
  }),
  latin1.filter((text) => text.length < 255),
);
/** UUIDs of version 7 and of other versions. */
const timedIds = fc
  .tuple(fields.messageId, fc.integer({ min: 0, max: 2 ** 48 - 1 }))
  .map(([id, time]) => markTimed(id, time));
const time = fc.integer({ min: 0, max: 8_640_000_000_000_000 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const jsonFields = {
  format: fc.constant("json"),
  type: fc.constantFrom(...eventTypes),
  receivedAt: time,
  sourceId: sourceIds,
  clientAddress: fc.oneof(
    fields.clientAddress,
    latin1.filter((text) => text.length < 224),
  ),
  messageId: maybe(fc.oneof(fields.messageId, timedIds)),
  sentAt: maybe(fc.oneof(time, fc.integer({ min: -62e12, max: 62e12 }))),
  json: fc.json().map((text) => Uint8Array.from(Buffer.from(text))),
  after: maybe(ends),
  refused: maybe(fc.string({ unit: "grapheme", maxLength: 20 })),
};
const near = fc.integer({ min: -(2 ** 31) - 1, max: 2 ** 31 });
const json: fc.Arbitrary<JsonRecord> = fc
  .tuple(fc.record<JsonRecord>(jsonFields), fc.boolean(), maybe(near))
  .map(([value, isTimed, difference]) => {
    const { messageId, receivedAt, sentAt } = value;
    const canBeTimed = isTimed && messageId !== undefined && receivedAt < 2 ** 48;
    return {
      ...value,
      messageId: canBeTimed ? markTimed(messageId, receivedAt) : messageId,
      sentAt: difference === undefined ? sentAt : receivedAt + difference,
    };
  });
const record: fc.Arbitrary<EventRecord> = fc.oneof(pixel, json);

function encoded(value: EventRecord): Uint8Array {
  const into = Buffer.alloc(eventRecordCodec.bytesMax(value) + 7);
  return into.subarray(7, eventRecordCodec.encode(value, into, 7));
}

describe("a record", () => {
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

  test("gives its source without being decoded", () => {
    fc.assert(
      fc.property(record, (value) => {
        expect(sourceOfRecord(encoded(value))).toBe(value.sourceId);
      }),
    );
  });

  test("counts in memory as its encoded bytes, its query or its JSON", () => {
    fc.assert(
      fc.property(record, (value) => {
        const bytes = encoded(value);
        const size = value.format === "json" ? value.json.length : bytes.length;
        expect(recordBytes(readRecord(bytes))).toBe(size);
        const known = value.format === "json" ? value.json : value.query;
        expect(recordBytes(value)).toBe(known.length);
      }),
    );
  });

  test("shares no memory with the bytes it was read from", () => {
    const value = fc.sample(record, 1)[0]!;
    const bytes = encoded(value);
    const read = decodeRecord(bytes);
    bytes.fill(0);
    expect(read).toEqual(value);
  });
});

describe("a pixel record", () => {
  test("of other bytes is refused", () => {
    const value = { ...fc.sample(pixel, 1)[0]!, query: "abc" };
    const bytes = encoded(value);
    for (let end = 0; end < bytes.length; end++) {
      expect(() => decodeRecord(bytes.subarray(0, end))).toThrow(RangeError);
    }
    expect(() => decodeRecord(Buffer.concat([bytes, Buffer.of(0)]))).toThrow("bytes");
    expect(() => decodeRecord(Buffer.concat([Buffer.of(9), bytes.subarray(1)]))).toThrow(
      NewerRecordError,
    );
    expect(() => decodeRecord(Buffer.concat([Buffer.of(0), bytes.subarray(1)]))).toThrow(
      "version 1 or 2",
    );
    expect(() =>
      decodeRecord(Buffer.concat([bytes.subarray(0, 1), Buffer.of(2), bytes.subarray(2)])),
    ).toThrow("type");
  });

  test("holds texts of 255 bytes and 255 ends, and refuses more", () => {
    const text = "s".repeat(255);
    const after = Array.from({ length: 255 }, (_, log) => ({ log, sequence: 2 ** 40 + log }));
    const value = { ...fc.sample(pixel, 1)[0]!, sourceId: text, clientAddress: text, after };
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

describe("a record of an SDK's event", () => {
  const typical: JsonRecord = {
    ...{ format: "json", type: "track", receivedAt: 1_795_000_000_000, messageId: undefined },
    ...{ sourceId: "0123456789ABCabcXYZxyz01234", clientAddress: "203.0.113.7" },
    ...{ sentAt: 1_794_999_999_000, json: Uint8Array.from(Buffer.from("{}")) },
  };
  const overhead = (over: Partial<JsonRecord>) =>
    RECORD_HEADER_BYTES + encoded({ ...typical, ...over }).length - typical.json.length;

  test("takes at most 60 bytes more than its JSON", () => {
    const { receivedAt } = typical;
    const sourceId = newId(receivedAt);
    const messageId = markTimed(crypto.getRandomValues(new Uint8Array(16)), receivedAt);
    const clientAddress = "2001:db8:1:2:3:4:5:6";
    expect(overhead({ sourceId, sentAt: undefined })).toBe(38);
    expect(overhead({ sourceId, messageId })).toBe(48);
    expect(overhead({ sourceId, clientAddress, messageId })).toBe(60);
    // A clock that is wrong by more than 8 seconds costs a byte, by more than 17 minutes two.
    for (const [wrongMs, bytes] of [
      [-8_192, 60],
      [8_192, 61],
      [1_048_575, 61],
      [1_048_576, 62],
    ] as const) {
      const sentAt = receivedAt + wrongMs;
      expect(overhead({ sourceId, clientAddress, messageId, sentAt })).toBe(bytes);
    }
    const after = [{ log: 1, sequence: 100_000_000 }];
    expect(overhead({ sourceId, messageId, after })).toBe(48 + 1 + 1 + 1 + 4);
  });

  test("that ends within its head is refused", () => {
    const value = { ...typical, messageId: new Uint8Array(16), after: [{ log: 1, sequence: 2 }] };
    const bytes = encoded({ ...value, refused: "reason" });
    for (let end = 0; end < bytes.length - typical.json.length; end++) {
      expect(() => decodeRecord(bytes.subarray(0, end))).toThrow(RangeError);
    }
    expect(() =>
      decodeRecord(Buffer.concat([bytes.subarray(0, 1), Buffer.of(7), bytes.subarray(2)])),
    ).toThrow("type");
  });

  test("keeps the first 255 bytes of the reason of its refusal", () => {
    const read = decodeRecord(encoded({ ...typical, refused: "ä".repeat(200) }));
    expect((read as JsonRecord).refused).toBe("ä".repeat(127));
    expect(Buffer.from((read as JsonRecord).json).toString()).toBe("{}");
  });
});

test("an address that begins with the bytes of the address before it has its own text", () => {
  for (const text of ["192.0.2.1", "c000:201::1", "192.0.2.1", "192.0.2.2", "c000:201::2"]) {
    const bytes = packAddress(text)!;
    expect(unpackAddress(Uint8Array.from(bytes))).toBe(text);
  }
  const long = packAddress("c000:201::3")!;
  expect(unpackAddress(long)).toBe("c000:201::3");
  expect(unpackAddress(long.subarray(0, 4))).toBe("192.0.2.1");
});

test("an address that is not in its shortest form has no bytes that would give it back", () => {
  for (const text of ["2001:DB8::1", "2001:db8:0::1", "010.1.1.1", "text"]) {
    expect([text, packAddress(text)]).toEqual([text, undefined]);
  }
});

describe("a record of version 3", () => {
  const HAS_MESSAGE_ID = 16;
  const messageId = Buffer.from("0123456789abcdef");
  const json = Buffer.from("{}");
  /** Encodes a record whose parts are at the places that its head gives them. */
  const encoded3 = (flags: number, idLength: number, addressLength: number, ...parts: Buffer[]) => {
    const head = Buffer.of(3, flags, idLength, addressLength, ...new Uint8Array(12));
    return Buffer.concat([head, ...parts, json]);
  };
  const id = Buffer.from("s");

  test("gives a search its JSON, and its messageId if the server made it", () => {
    for (const [flags, ...made] of [[1], [1 | HAS_MESSAGE_ID, messageId]] as const) {
      const bytes = encoded3(flags, 1, 0, id, ...made);
      expect(jsonReaderOf(bytes)!.searched(bytes)).toEqual({ json, messageId: made[0] });
    }
  });

  test("that is damaged is refused", () => {
    const whole = encoded3(1 | HAS_MESSAGE_ID, 1, 0, id, messageId);
    expect(decodeRecord(whole)).toMatchObject({
      ...{ type: "track", sourceId: "s", clientAddress: "" },
      messageId: Uint8Array.from(messageId),
    });
    expect(decodeRecord(encoded3(1, 1, 4, id)).clientAddress).toBe("0.0.0.0");
    for (let end = 0; end < whole.length - json.length; end++) {
      expect(() => decodeRecord(whole.subarray(0, end))).toThrow(RangeError);
    }
    const refuses = (reason: string, ...args: Parameters<typeof encoded3>) =>
      expect(() => decodeRecord(encoded3(...args))).toThrow(reason);
    refuses("Expected record type 0 to 5, got 6", 6, 1, 0, id);
    refuses("Expected an address of 4 or 16 bytes, got 5", 1, 1, 5, Buffer.of(0), id);
    refuses("Expected a source id of letters and digits", 1, 255, 0, Buffer.alloc(21, 255));
  });
});

describe("a source id of 27 letters and digits", () => {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const LIMIT = 2n ** 160n;
  /** The id that is this number in base 62. */
  const idOf = (value: bigint) => {
    let id = "";
    for (let rest = value; id.length < 27; rest /= 62n) id = digits[Number(rest % 62n)] + id;
    return id;
  };

  test("is packed as its number in 160 bits, the lowest byte first", () => {
    const values = [0n, 1n, 61n, 62n, 62n ** 2n, 2n ** 16n, 2n ** 159n, LIMIT / 3n, LIMIT - 1n];
    for (const value of [...values, ...values.toReversed()]) {
      const bytes = packId(idOf(value))!;
      const number = bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
      expect([number, bytes.length]).toEqual([value, 20]);
      expect(unpackId(Uint8Array.of(...bytes, 7))).toBe(idOf(value));
    }
  });

  test("is not packed when its number is larger, or when it has other characters", () => {
    const zeros = "0".repeat(26);
    const others = [idOf(LIMIT), "z".repeat(27), "", zeros, `${zeros}00`, `${zeros}-`];
    for (const id of [...others, `${zeros}\u0100`, `\u0100${zeros}`]) {
      expect([id, packId(id)]).toEqual([id, undefined]);
    }
  });

  test("is read with six bits for each character, too", () => {
    const id = fc.string({ unit: fc.constantFrom(...digits), minLength: 27, maxLength: 27 });
    const property = fc.property(id, (text) => {
      const bits = [...text].map((digit) => digits.indexOf(digit).toString(2).padStart(6, "0"));
      const hex = BigInt(`0b1${bits.join("")}000000`)
        .toString(16)
        .slice(1);
      expect(unpackSixBitId(Buffer.concat([Buffer.of(1, 2), Buffer.from(hex, "hex")]), 2)).toBe(
        text,
      );
    });
    fc.assert(property);
  });
});
