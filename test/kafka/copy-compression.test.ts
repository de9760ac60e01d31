import { expect, test } from "bun:test";
import fc from "fast-check";
import { KafkaAnswerError } from "../../src/kafka/bounded-reader.ts";
import { decompressLz4, decompressSnappy } from "../../src/kafka/copy-compression.ts";
import { runs } from "../tier.ts";

/** A part of compressed data: literal bytes, or a copy of earlier output. */
type Part = { literal: number[] } | { offset: number; length: number; form: 1 | 2 | 3 };

const littleEndian = (value: number, bytes: number) =>
  Array.from({ length: bytes }, (_, at) => Math.floor(value / 2 ** (8 * at)) % 256);

/** Lists parts whose copies lie within the output, with the output. */
function fitting(parts: Part[]): { parts: Part[]; output: number[] } {
  const output: number[] = [];
  const fit: Part[] = [];
  for (const part of parts) {
    if ("literal" in part) {
      output.push(...part.literal);
      fit.push(part);
    } else if (output.length > 0) {
      const offset = 1 + (part.offset % Math.min(output.length, part.form === 1 ? 2_047 : 65_535));
      const length = part.form === 1 ? 4 + (part.length % 8) : part.length;
      for (let n = 0; n < length; n++) output.push(output.at(-offset)!);
      fit.push({ offset, length, form: part.form });
    }
  }
  return { parts: fit, output };
}

function snappyLiteral(literal: number[]): number[] {
  const last = literal.length - 1;
  if (last < 60) return [last << 2, ...literal];
  const bytes = last < 256 ? 1 : 2;
  return [(59 + bytes) << 2, ...littleEndian(last, bytes), ...literal];
}

function snappy(parts: Part[], length: number): Buffer {
  const head: number[] = [];
  for (let left = length; ; left >>= 7) {
    head.push(left >= 128 ? (left & 127) | 128 : left);
    if (left < 128) break;
  }
  const elements = parts.flatMap((part) => {
    if ("literal" in part) return snappyLiteral(part.literal);
    const { offset, length, form } = part;
    if (form === 1) return [((offset >> 8) << 5) | ((length - 4) << 2) | 1, offset & 255];
    return [((length - 1) << 2) | form, ...littleEndian(offset, form === 2 ? 2 : 4)];
  });
  return Buffer.from([...head, ...elements]);
}

const literal = fc
  .oneof(
    fc.array(fc.nat(255), { minLength: 1, maxLength: 70 }),
    fc.array(fc.nat(255), { minLength: 250, maxLength: 400 }),
  )
  .map((literal): Part => ({ literal }));
const copy = fc.record({
  offset: fc.nat(70_000),
  length: fc.integer({ min: 1, max: 64 }),
  form: fc.constantFrom(1, 2, 3),
}) as fc.Arbitrary<Part>;
const anyParts = fc.array(fc.oneof(literal, copy), { minLength: 1, maxLength: 12 }).map(fitting);

test("Snappy's literals and its three forms of copies are read, with and without Java's head", () => {
  const property = fc.property(anyParts, ({ parts, output }) => {
    const block = snappy(parts, output.length);
    const expected = Buffer.from(output);
    expect(decompressSnappy(block, output.length)).toEqual(expected);
    const head = [0x82, ...Buffer.from("SNAPPY"), 0, 0, 0, 0, 1, 0, 0, 0, 1];
    const framed = [...littleEndian(block.length, 4).toReversed(), ...block];
    const java = Buffer.from([...head, ...framed, ...framed]);
    const twice = Buffer.concat([expected, expected]);
    expect(decompressSnappy(java, twice.length)).toEqual(twice);
    if (output.length > 0) {
      expect(() => decompressSnappy(block, output.length - 1)).toThrow("Expected fewer");
      expect(() => decompressSnappy(block.subarray(0, -1), output.length)).toThrow();
    }
  });
  fc.assert(property, { numRuns: runs(60, 3_000) });
});

/** Sequences of LZ4: literal bytes each with a copy, and at the end literal bytes alone. */
const anySequences = fc.array(fc.tuple(literal, copy, fc.integer({ min: 4, max: 600 })), {
  maxLength: 4,
});

function lz4Block(sequences: [Part, Part, number][], end: number[]) {
  const output: number[] = [];
  const lengthBytes = (length: number) => {
    if (length < 15) return [];
    return [...Array(Math.floor((length - 15) / 255)).fill(255), (length - 15) % 255];
  };
  const token = (literals: number, copied: number) =>
    (Math.min(15, literals) << 4) | Math.min(15, copied);
  const bytes: number[] = [];
  for (const [part, place, length] of sequences) {
    const { literal } = part as { literal: number[] };
    output.push(...literal);
    const offset = 1 + ((place as { offset: number }).offset % Math.min(output.length, 65_535));
    for (let n = 0; n < length; n++) output.push(output.at(-offset)!);
    bytes.push(token(literal.length, length - 4), ...lengthBytes(literal.length), ...literal);
    bytes.push(...littleEndian(offset, 2), ...lengthBytes(length - 4));
  }
  bytes.push(token(end.length, 0), ...lengthBytes(end.length), ...end);
  output.push(...end);
  return { bytes, output };
}

const magic = littleEndian(0x184d2204, 4);

test("frames of LZ4 are read, with each kind of size and checksum, compressed and plain", () => {
  const end = fc.array(fc.nat(255), { maxLength: 300 });
  const flags = fc.record({ size: fc.boolean(), sum: fc.boolean(), blockSum: fc.boolean() });
  const property = fc.property(anySequences, end, flags, (sequences, end, has) => {
    const { bytes, output } = lz4Block(sequences, end);
    const sum = has.blockSum ? [1, 2, 3, 4] : [];
    const flag = 0x40 | (has.size ? 8 : 0) | (has.sum ? 4 : 0) | (has.blockSum ? 16 : 0);
    const plain = littleEndian(end.length + 0x8000_0000, 4);
    const frame = [
      ...[...magic, flag, 0x40, ...(has.size ? littleEndian(9, 8) : []), 0],
      ...[...littleEndian(bytes.length, 4), ...bytes, ...sum],
      ...(end.length > 0 ? [...plain, ...end, ...sum] : []),
      ...[0, 0, 0, 0, ...(has.sum ? [9, 9, 9, 9] : [])],
    ];
    const expected = Buffer.from([...output, ...end]);
    expect(decompressLz4(Buffer.from(frame), expected.length)).toEqual(expected);
    expect(() => decompressLz4(Buffer.from(frame).subarray(0, -1), expected.length)).toThrow(
      KafkaAnswerError,
    );
    const less = expected.length - 1;
    if (less >= 0) expect(() => decompressLz4(Buffer.from(frame), less)).toThrow("Expected fewer");
  });
  fc.assert(property, { numRuns: runs(60, 3_000) });
});

test.each([
  ["a copy before the output", [3, 0, 97, 1, 2], "Expected a copy of output"],
  ["a copy of nothing", [3, 0, 97, 1, 0], "Expected a copy of output"],
  ["a copy at the begin", [3, 2, 1, 0], "Expected a copy of output"],
  ["a literal that is cut off", [3, 8, 97], "Expected more compressed bytes"],
  ["a head that is cut off", [0x80], "Expected more compressed bytes"],
])("Snappy with %s is refused", (_, bytes, message) => {
  expect(() => decompressSnappy(Buffer.from(bytes), 1_000)).toThrow(new KafkaAnswerError(message));
});

test.each([
  ["another magic number", [1, 2, 3, 4, 0x40, 0x40, 0], "Expected a frame of LZ4"],
  ["a dictionary", [...magic, 0x41, 0x40, 0, 0, 0, 0, 0], "Expected LZ4 without a dictionary"],
  ["no end", [...magic, 0x40, 0x40, 0], "Expected more compressed bytes"],
])("LZ4 with %s is refused", (_, bytes, message) => {
  expect(() => decompressLz4(Buffer.from(bytes), 1_000)).toThrow(new KafkaAnswerError(message));
});

test.each([1, 59, 60, 61, 127, 128, 255, 256, 257])("a literal of %i bytes is read", (length) => {
  const literal = Array.from({ length }, (_, at) => at % 251);
  const block = snappy([{ literal }], length);
  expect(decompressSnappy(block, length)).toEqual(Buffer.from(literal));
});

test("output of many times the first size of the buffer is read", () => {
  const { parts, output } = fitting([
    { literal: [1, 2, 3, 4, 5, 6, 7] },
    ...Array.from({ length: 5_000 }, (): Part => ({ offset: 6, length: 64, form: 2 })),
  ]);
  const block = snappy(parts, output.length);
  expect(decompressSnappy(block, output.length).equals(Buffer.from(output))).toBe(true);
});
