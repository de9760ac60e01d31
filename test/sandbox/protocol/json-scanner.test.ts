import { expect, test } from "bun:test";
import fc from "fast-check";
import { jsonEnd, NOT_JSON, TOO_DEEP } from "../../../src/sandbox/protocol/json-scanner.ts";

const end = (text: string, levelsMax = 1_000) => jsonEnd(Buffer.from(text), 0, levelsMax);

test("the end of what JSON.stringify writes is found, whatever follows", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const { length } = Buffer.from(text);
      expect(end(text)).toBe(length);
      expect(end(`${text}\n{}`)).toBe(length);
      expect(jsonEnd(Buffer.from(`{"a":${text}}`), 5, 1_000)).toBe(5 + length);
    }),
  );
});

test("every text that the scanner accepts is JSON", () => {
  const pieces = fc.constantFrom(...'{}[],:"\\0123456789-+.eEtruefalsn u\n\t/b', '"a"', "null");
  const garbled = fc
    .tuple(fc.jsonValue(), fc.nat(), fc.array(pieces, { maxLength: 3 }), fc.nat(3))
    .map(([value, at, inserted, removed]) => {
      const text = JSON.stringify(value);
      const place = at % (text.length + 1);
      return text.slice(0, place) + inserted.join("") + text.slice(place + removed);
    });
  fc.assert(
    fc.property(
      fc.oneof(
        garbled,
        fc.array(pieces).map((all) => all.join("")),
      ),
      (text) => {
        if (end(text) === Buffer.from(text).length) expect(() => JSON.parse(text)).not.toThrow();
      },
    ),
    { numRuns: 3_000 },
  );
});

const notJson = [
  ...'{garbage} {a:1} {\'a\':1} {"a"} {"a":} {"a":1,} {,} [1,] [,1] [ {"a":01} {"a":1.}'.split(" "),
  ...'{"a":.5} {"a":+1} {"a":1e} {"a":--1} {"a":NaN} {"a":truth} {"a":nul} {"a":"\\x"}'.split(" "),
  ...['{"a":"\\u12g4"}', '{"a":"\n"}', '{"a":"\\', '{"a":"', '{"a" :1}', "", " {}", "[}", "{]"],
];

test.each(notJson)("%j is not JSON as guests write it", (text) => {
  expect(end(text)).toBe(NOT_JSON);
});

test("nesting is bounded, however long the text is", () => {
  expect(end("[".repeat(5) + "]".repeat(5), 5)).toBe(10);
  expect(end("[".repeat(6) + "]".repeat(6), 5)).toBe(TOO_DEEP);
  expect(end('{"a":'.repeat(1_000_000))).toBe(TOO_DEEP);
});
