import { expect, test } from "bun:test";
import fc from "fast-check";
import { memberReader } from "../../src/json/member-reader.ts";

const names = ["userId", "event", 'a"b'];
const members = fc.dictionary(
  fc.oneof(fc.constantFrom(...names, "userI"), fc.string()),
  fc.jsonValue(),
);

/** A value as the reader returns it: an integer that would be rounded is a text. */
const asRead = (value: unknown) =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(String(value))
    ? String(value)
    : value;

test("the members of a JSON object are read as JSON.parse reads them, whatever its white space", () => {
  const read = memberReader(names);
  fc.assert(
    fc.property(members, fc.constantFrom(0, 1, "\t"), (object, space) => {
      const text = JSON.stringify(object, null, space);
      const parsed = JSON.parse(text);
      expect(read(Buffer.from(text))).toEqual(
        names.map((name) => (Object.hasOwn(parsed, name) ? asRead(parsed[name]) : undefined)),
      );
    }),
  );
});

test("a text that is no JSON object has no members, and a part of one has those before its end", () => {
  const read = memberReader(["a", "b"]);
  const values = (text: string) => read(Buffer.from(text));
  for (const text of [
    "",
    " ",
    "null",
    "7",
    '"a"',
    '["a",1]',
    "hello",
    "{",
    '{"a',
    '{"a"',
    "{a:1}",
  ]) {
    expect(values(text)).toEqual([undefined, undefined]);
  }
  expect(values('{"a":1,"b":')).toEqual([1, undefined]);
  expect(values('{"a":1 "b":2}')).toEqual([1, undefined]);
  expect(values('{"a":"\\u00e4\\"","b":tru}')).toEqual(['ä"', undefined]);
  expect(values('{"a":tru,"b":1}')).toEqual([undefined, undefined]);
});

test("an integer beyond 2^53 keeps all its digits, as text", () => {
  const read = memberReader(["a"]);
  for (const text of ["9007199254740993", "-9007199254740993", "12345678901234567890"]) {
    expect(read(Buffer.from(`{"a":${text}}`))).toEqual([text]);
  }
  for (const text of ["9007199254740991", "1.5", "1e20", "-0.5"]) {
    expect(read(Buffer.from(`{"a":${text}}`))).toEqual([JSON.parse(text)]);
  }
});
