import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  asBuffer,
  hexDigit,
  hexValue,
  utf8Text,
  writeAscii,
  writeDecimal,
} from "../../src/json/bytes.ts";
import { hashableText } from "../../src/json/hashable-text.ts";
import { loadText, textMemory } from "../../src/json/text-memory.ts";

test("hexadecimal digits have the values that they are parsed to, other bytes have -1", () => {
  for (let byte = 0; byte < 256; byte++) {
    const digit = String.fromCharCode(byte);
    expect(hexValue[byte]).toBe(/[0-9a-f]/i.test(digit) ? Number.parseInt(digit, 16) : -1);
  }
  expect(Buffer.from(hexDigit).toString()).toBe("0123456789abcdef");
});

test("numbers and texts are written at their place, and change nothing beside it", () => {
  const number = fc.tuple(fc.nat(), fc.integer({ min: 10, max: 12 }));
  const small = fc.tuple(fc.nat(99), fc.constant(2));
  fc.assert(
    fc.property(fc.oneof(number, small), fc.nat(5), ([value, width], offset) => {
      const bytes = Buffer.alloc(20, "-");
      expect(writeDecimal(value, width, bytes, offset)).toBe(offset + width);
      const text = String(value).padStart(width, "0");
      expect(bytes.toString()).toBe(`${"-".repeat(offset)}${text}`.padEnd(20, "-"));
      expect(writeAscii("ab", bytes, offset)).toBe(offset + 2);
      expect(bytes.toString("latin1", offset, offset + 3)).toBe(`ab${text.slice(2, 3) || "-"}`);
    }),
  );
});

test("a Buffer on other bytes has their memory and no more, and one on itself is itself", () => {
  const bytes = new Uint8Array([1, 2, 3, 4]).subarray(1, 3);
  const buffer = asBuffer(bytes);
  expect(Buffer.isBuffer(buffer)).toBe(true);
  expect([...buffer]).toEqual([2, 3]);
  buffer[0] = 9;
  expect(bytes[0]).toBe(9);
  expect(asBuffer(buffer)).toBe(buffer);
});

test("UTF-8 is decoded between two offsets, of any bytes", () => {
  const bytes = new Uint8Array(Buffer.from("aäb"));
  expect(utf8Text(bytes)).toBe("aäb");
  expect(utf8Text(bytes, 1)).toBe("äb");
  expect(utf8Text(bytes, 1, 3)).toBe("ä");
});

test("texts that differ in halves of surrogate pairs alone have other texts to hash", () => {
  expect(hashableText("ä😀")).toBe("ä😀");
  const halves = ["\ud800", "\udc00", "\ud801"].map(hashableText);
  expect(new Set(halves.map((text) => Buffer.from(text).toString("hex"))).size).toBe(3);
});

test("the memory of a scanned text ends with zeros, grows as needed, and is not copied to itself", () => {
  const small = loadText(Buffer.from("123"));
  expect([...small.subarray(0, 11)]).toEqual([...Buffer.from("123"), ...Buffer.alloc(8)]);
  // What was longer leaves nothing behind.
  loadText(Buffer.from("12345678901234567890"));
  expect([...loadText(Buffer.from("12")).subarray(2, 10)]).toEqual(Array(8).fill(0));
  const kept = textMemory(0);
  kept.write("kept");
  const larger = textMemory(kept.length - 7);
  expect(larger.length).toBeGreaterThanOrEqual(kept.length + 1);
  expect(larger.toString("latin1", 0, 4)).toBe("kept");
  expect(textMemory(larger.length - 8)).toBe(larger);
  const text = Buffer.alloc(larger.length - 8, "x");
  expect(loadText(text)).toBe(larger);
  expect(larger.subarray(0, text.length).equals(text)).toBe(true);
  larger.write("abcdef");
  expect(loadText(larger.subarray(2, 5)).toString("latin1", 0, 4)).toBe("cde\0");
  expect(loadText(larger.subarray(0, 2)).toString("latin1", 0, 4)).toBe("cd\0\0");
});
