import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diskReserve } from "../../src/disk/reserve.ts";

const directory = mkdtempSync(join(tmpdir(), "reserve-"));
const path = join(directory, "file");
afterAll(() => rmSync(directory, { recursive: true }));

test("a reserve keeps space after the end of a file, and its length", () => {
  writeFileSync(path, "content");
  const blocks = () => statSync(path).blocks;
  const before = blocks();
  const keep = diskReserve(path, 1 << 20);
  keep();
  const kept = blocks();
  expect(kept - before).toBeGreaterThanOrEqual((1 << 20) / 512);
  expect(statSync(path).size).toBe("content".length);
  keep();
  expect(blocks()).toBe(kept);
});

test("a reserve of a file that is gone changes nothing, so that what was stored stays stored", () => {
  rmSync(path);
  expect(diskReserve(path, 1 << 20)).not.toThrow();
});
