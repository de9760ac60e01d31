import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openMark, readStoredMark } from "../../src/log/durable-mark.ts";
import { PAGE_BYTES } from "../../src/log/io/page.ts";
import { temporaryDirectory } from "./support.ts";

test("a process that opens a mark reads its writer's number at once and later", () => {
  const directory = join(temporaryDirectory(), "new");
  const [writer, reader] = [openMark(directory), openMark(directory)];
  expect(reader.get()).toBe(0);
  writer.set(12);
  expect(reader.get()).toBe(12);
  expect(readStoredMark(openMark(directory))).toBe(12);
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

test("a mark of eight bytes grows to a page and keeps its value", () => {
  const directory = temporaryDirectory();
  const path = join(directory, "durable");
  writeFileSync(path, new Uint8Array(Float64Array.of(77).buffer));
  expect(openMark(directory).get()).toBe(77);
  expect(statSync(path).size).toBe(PAGE_BYTES);
  // One of a page is in use, perhaps by another process: it stays the file that it is.
  const { ino } = statSync(path);
  openMark(directory).set(78);
  expect(statSync(path).ino).toBe(ino);
  expect(readFileSync(path).readDoubleLE(0)).toBe(78);
});
