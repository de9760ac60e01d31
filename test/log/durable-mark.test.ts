import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../../src/errors.ts";
import { openMark, readStoredMark } from "../../src/log/durable-mark.ts";
import { temporaryDirectory } from "./support.ts";

test("a process that opens a mark reads its writer's number at once and later", () => {
  const directory = join(temporaryDirectory(), "new");
  const [writer, reader] = [openMark(directory), openMark(directory)];
  expect(reader.get()).toBe(0);
  writer.set(12);
  expect(reader.get()).toBe(12);
  expect(readStoredMark(openMark(directory))).toBe(12);
});

test.each([0, 4])("a mark in a file of %p bytes is refused, and the file is named", (size) => {
  const directory = temporaryDirectory();
  const path = join(directory, "durable");
  writeFileSync(path, new Uint8Array(size));
  const message = `Expected 4096 bytes in ${path}, got ${size}`;
  expect(() => openMark(directory)).toThrow(StartError);
  expect(() => openMark(directory)).toThrow(message);
});

test.each([
  [1, 1],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  [0, 0],
  [-1, 0],
  [1.5, 0],
  [Number.NaN, 0],
  [Number.POSITIVE_INFINITY, 0],
  [2 ** 53, 0],
])("a mark that holds %p is taken for %p", (value, sequence) => {
  const mark = openMark(temporaryDirectory());
  mark.set(value);
  expect(readStoredMark(mark)).toBe(sequence);
});
