import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { Glob } from "bun";
import { shardsOf, slowFiles } from "./shards.ts";

test("each test file runs in one process, and slow files run alone", () => {
  const files = [...new Glob("test/**/*.test.ts").scanSync(".")].sort();
  const shards = shardsOf(files);
  expect(shards.flat().sort()).toEqual(files);
  for (const file of slowFiles) expect(shards).toContainEqual([file]);
});

test("the list of slow files names files that exist", () => {
  expect(slowFiles.filter((file) => !existsSync(file))).toEqual([]);
});

test("the files that share a set of brokers run in one process", () => {
  const files = [...new Glob("test/cluster/*.test.ts").scanSync(".")].sort();
  const three = files.filter((file) => /withBrokers\(3/.test(readFileSync(file, "utf8")));
  expect(three.length).toBeGreaterThan(1);
  expect(shardsOf(files)[0]).toEqual(three);
});
