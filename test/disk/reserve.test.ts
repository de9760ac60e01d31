import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diskReserve, reservedBytes } from "../../src/disk/reserve.ts";

const directory = mkdtempSync(join(tmpdir(), "reserve-"));
const path = join(directory, "file");
afterAll(() => rmSync(directory, { recursive: true }));

function reserveOf(file: string) {
  const levels: string[] = [];
  const note = (level: string) => () => void levels.push(level);
  const logger = { warn: note("warn"), info: note("info") };
  const keep = diskReserve(file, { reserveBytes: 1 << 20, logger });
  return { keep, levels };
}

test("a reserve keeps space after the end of a file, and its length", () => {
  writeFileSync(path, "content");
  const blocks = () => statSync(path).blocks;
  const before = blocks();
  const { keep, levels } = reserveOf(path);
  expect(reservedBytes(path)).toBeLessThan(1 << 20);
  keep();
  const kept = blocks();
  expect(kept - before).toBeGreaterThanOrEqual((1 << 20) / 512);
  expect(statSync(path).size).toBe("content".length);
  keep();
  expect(blocks()).toBe(kept);
  expect(reservedBytes(path)).toBeGreaterThanOrEqual(1 << 20);
  expect(levels).toEqual([]);
});

test("a reserve is allocated again once half of it is used, and not before", () => {
  const grown = join(directory, "grown");
  writeFileSync(grown, "");
  const { keep } = reserveOf(grown);
  keep();
  const blocks = () => statSync(grown).blocks;
  const first = blocks();
  const growTo = (size: number) => {
    truncateSync(grown, size);
    keep();
  };
  growTo((1 << 19) - 1);
  expect(blocks()).toBe(first);
  growTo(1 << 19);
  const second = blocks();
  expect(second).toBeGreaterThan(first);
  growTo((1 << 20) - 1);
  expect(blocks()).toBe(second);
  growTo(1 << 20);
  expect(blocks()).toBeGreaterThan(second);
});

test("no reserve is kept of a file that wants none", () => {
  const plain = join(directory, "plain");
  writeFileSync(plain, "");
  diskReserve(plain, { logger: { warn() {}, info() {} } })();
  expect(statSync(plain).blocks).toBe(0);
});

test("a reserve whose file is gone throws nothing; its loss and its return are each logged once", () => {
  const { keep, levels } = reserveOf(path);
  rmSync(path);
  expect(reservedBytes(path)).toBe(0);
  keep();
  keep();
  expect(levels).toEqual(["warn"]);
  writeFileSync(path, "content");
  keep();
  keep();
  expect(levels).toEqual(["warn", "info"]);
});
