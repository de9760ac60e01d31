import { expect, test } from "bun:test";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openFile } from "../../src/disk/open-file.ts";
import { makeDirectory, syncPath } from "../../src/disk/sync.ts";
import { recordRefused } from "../../src/log/refused-records.ts";
import { openFiles, temporaryDirectory } from "../log/support.ts";

const directory = temporaryDirectory();

test("a file is open up to the end of its block, whatever ends it", () => {
  const path = join(directory, "file");
  writeFileSync(path, "");
  expect(() => {
    using file = openFile(path, "r");
    expect(file.fd).toBeGreaterThan(2);
    expect(openFiles(directory)).toBe(1);
    throw new Error("An end");
  }).toThrow("An end");
  expect(openFiles(directory)).toBe(0);
});

test("durable writes leave no file open", () => {
  makeDirectory(join(directory, "a/b"));
  syncPath(join(directory, "a"));
  recordRefused(directory, { from: 1, to: 2 });
  expect(openFiles(directory)).toBe(0);
});

test("a directory is made with its parents, with a mode or with that of the process", () => {
  const mode = (path: string) => statSync(join(directory, path)).mode & 0o777;
  makeDirectory(join(directory, "private/inside"), 0o700);
  expect([mode("private"), mode("private/inside")]).toEqual([0o700, 0o700]);
  makeDirectory(join(directory, "plain"));
  expect(mode("plain")).toBe(0o777 & ~process.umask());
  makeDirectory(join(directory, "plain"), 0o700);
  expect(mode("plain")).toBe(0o777 & ~process.umask());
});

test("what is missing cannot be made durable", () => {
  expect(() => syncPath(join(directory, "missing"))).toThrow("ENOENT");
});
