import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { Glob } from "bun";
import { shardsOf, slowFiles, usesBrowser } from "./shards.ts";

const files = [...new Glob("test/**/*.test.ts").scanSync(".")].sort();

test("each test file runs in one process, and slow files run alone or with their counterparts", () => {
  const shards = shardsOf(files);
  expect(shards.flat().sort()).toEqual(files);
  for (const file of slowFiles) {
    const shard = shards.find((it) => it.includes(file))!;
    expect([file, shard.length === 1 || usesBrokers(file) || usesBrowser(file)]).toEqual([
      file,
      true,
    ]);
  }
});

test("files of the quick tier that share a browser run in four processes, the slow ones apart", () => {
  const shards = shardsOf(files).filter((shard) => shard.some(usesBrowser));
  const shared = shards.filter((shard) => !shard.some((file) => file.includes(".long.")));
  expect(shared.map((shard) => shard.every(usesBrowser))).toEqual(Array(4).fill(true));
  const slow = shared.map((shard) => shard.filter((file) => slowFiles.includes(file)).length);
  expect(Math.max(...slow) - Math.min(...slow)).toBeLessThanOrEqual(1);
  expect(shared.flat().some((file) => file.includes(".long."))).toBe(false);
});

test("the list of slow files names files that exist", () => {
  expect(slowFiles.filter((file) => !existsSync(file))).toEqual([]);
});

test.each([
  ["three brokers", /withBrokers\(3/, 1],
  ["the guarded broker", /sharedGuardedBroker\(/, 1],
  ["a single broker", /withBrokers\(1|sharedBrokers\(1/, 2],
] as const)("files that share %s start first, and in few processes", (_, uses, processes) => {
  const shards = shardsOf(files);
  // This file names what it looks for.
  const own = files.filter((file) => uses.test(textOf(file)) && !file.startsWith("test/run/"));
  expect(own.length).toBeGreaterThan(1);
  const used = shards.filter((shard) => own.some((file) => shard.includes(file)));
  expect(used).toHaveLength(processes);
  expect(shards.slice(0, 4)).toEqual(expect.arrayContaining(used));
});

function usesBrokers(file: string): boolean {
  return /withBrokers\(|shared(Guarded)?Brokers?\(/.test(textOf(file));
}

function textOf(file: string): string {
  return readFileSync(file, "utf8");
}
