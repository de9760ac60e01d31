import { expect, test } from "bun:test";
import { withoutLineBreaks } from "../../src/event/sdk/line-breaks.ts";
import { textSearch } from "../../src/event/text-search.ts";

test.each([
  ["Pro", true],
  ["free", false],
  ['say "hi"', true],
  ["a\\b", true],
  ["first\nsecond", true],
  ['"Plan": "pro"', true],
  ['"plan" :"pro"', true],
  ['"plan": "free"', false],
  ['["a", "b"]', true],
])("an event is searched for %j as text of a value or as JSON: %p", (text, isFound) => {
  const event = { plan: "pro", list: ["a", "b"], text: 'say "hi" a\\b first\nsecond' };
  expect(textSearch(text)(JSON.stringify(event).toLowerCase())).toBe(isFound);
});

test("line breaks are left out of JSON with all white space beside them, and not out of its strings", () => {
  const lines = '{\n  "a \\" b" :\t[ 1,\r\n "\\\\" , "c d" ]\n}';
  expect(withoutLineBreaks(Buffer.from(lines)).toString()).toBe('{"a \\" b":[1,"\\\\","c d"]}');
  for (const breaks of ["\n", "\r"]) {
    expect(withoutLineBreaks(Buffer.from(`[1, ${breaks}2]`)).toString()).toBe("[1,2]");
  }
  const line = Buffer.from('{ "a" : 1 }');
  expect(withoutLineBreaks(line)).toBe(line);
});
