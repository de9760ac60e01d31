import { expect, test } from "bun:test";
import { BatchLogs, noLogs } from "../../../src/sandbox/batch/batch-logs.ts";
import type { LogLine } from "../../../src/sandbox/program.ts";

const line = (text: string, more = {}) => ({ text, ...more }) as LogLine;

test("lines name their event by its index in the batch", () => {
  const logs = new BatchLogs({ lines: 10, chars: 100 });
  logs.add([line("a", { event: 1 }), line("b", { event: 0 }), line("c")], [4, 7]);
  logs.add([line("d"), line("e", { event: 0 })], [9]);
  expect(logs.lines).toEqual([
    line("a", { event: 7 }),
    line("b", { event: 4 }),
    line("c"),
    line("d", { event: 9 }),
    line("e", { event: 9 }),
  ]);
});

test("lines up to the largest number of characters are kept, and the room that is left is known", () => {
  const logs = new BatchLogs({ lines: 3, chars: 10 });
  expect([logs.linesLeft, logs.charsLeft]).toEqual([3, 10]);
  logs.add([line("12345")], []);
  expect([logs.linesLeft, logs.charsLeft]).toEqual([2, 5]);
  logs.add([line("12345")], []);
  expect([logs.linesLeft, logs.charsLeft]).toEqual([1, 0]);
  logs.add([line("1"), line("")], []);
  expect(logs.lines).toHaveLength(2);
  expect(logs.charsLeft).toBe(0);
});

test("a sink of no lines has no room", () => {
  const logs = new BatchLogs(noLogs);
  expect([logs.linesLeft, logs.charsLeft]).toEqual([0, 0]);
});
