import { beforeEach, expect, test } from "bun:test";
import fc from "fast-check";
import { loadText, NOT_JSON, scanned, skipValue } from "../../src/json/json-scanner.ts";

const end = (text: string, start = 0) => skipValue(loadText(Buffer.from(text)), start);

beforeEach(() => {
  scanned.levels = 0;
  scanned.values = 0;
});

test("the end of what JSON.stringify writes is found, whatever follows", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1, "\t"), (value, space) => {
      const text = JSON.stringify(value, null, space);
      const { length } = Buffer.from(text);
      expect(end(text)).toBe(length);
      expect(end(`${text}\n{}`)).toBe(length);
      expect(end(`{"a":${text}}`, 5)).toBe(5 + length);
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
  ...['{"a":"\\u12g4"}', '{"a":"\n"}', '{"a":"\\', '{"a":"', "", " {}", "[}", "{]"],
];

test.each(notJson)("%j is not JSON from its first byte on", (text) => {
  expect(end(text)).toBe(NOT_JSON);
});

test.each([
  ['"[{"', 0, 1],
  ["[]", 1, 1],
  ['{"a":[1, true],"b":{}}', 2, 5],
  [`${"[".repeat(5_000)}${"]".repeat(5_000)}`, 5_000, 5_000],
])("the levels and the values of a text are counted: %#", (text, levels, values) => {
  expect(end(text)).toBe(text.length);
  expect(scanned).toMatchObject({ levels, values });
});

test("an endless nesting is not JSON", () => {
  expect(end('{"a":'.repeat(1_000_000))).toBe(NOT_JSON);
});
