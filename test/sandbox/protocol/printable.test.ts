import { expect, test } from "bun:test";
import { printable } from "../../../src/sandbox/protocol/printable.ts";

test.each([
  ["lines\n\tand tabs", "lines\n\tand tabs"],
  ["\u001b[1;31mred\u001b[0m", "red"],
  ["\u001b]0;title\u0007text", "text"],
  ["\u001b]8;;http://x\u001b\\link", "link"],
  ["\u001b]0;no end", "]0;no end"],
  ["a\rb\u0000c\u007fd\u009be", "abcde"],
  ["ä € 🎈", "ä € 🎈"],
  ["cut 🎈".slice(0, -1), "cut \ufffd"],
])("of the text %j of a guest, %j is printed", (text, expected) => {
  expect(printable(text)).toBe(expected);
});
