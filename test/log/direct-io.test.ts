import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { PAGE_BYTES, pageAligned } from "../../src/log/io/page.ts";
import { closeSegment, createSegment, writeBlocks } from "../../src/log/segment/segment-file.ts";
import { firstMissing, type Missing, missingPrograms, testWith } from "../counterpart.ts";
import { openFiles, temporaryDirectory } from "./support.ts";

const cachedPages = (path: string) =>
  Number(Bun.spawnSync(["fincore", "--noheadings", "--output", "PAGES", path]).stdout.toString());
const fileSystem = Bun.spawnSync(["stat", "--file-system", "--format=%T", temporaryDirectory()]);
/** On tmpfs the page cache is the disk, and takes memory between pages. */
const diskMissing: Missing = fileSystem.stdout.includes("tmpfs")
  ? "temporary files are on tmpfs"
  : undefined;

test("batches of any size are written one after another, whole pages or not", async () => {
  const segment = await createSegment(temporaryDirectory(), 0);
  const { direct } = segment;
  const batches = [
    [PAGE_BYTES],
    [100],
    [PAGE_BYTES - 100],
    [3 * PAGE_BYTES],
    [100, PAGE_BYTES - 100],
    [PAGE_BYTES],
    [7],
  ];
  const expected: Buffer[] = [];
  for (const lengths of batches) {
    const blocks = lengths.map((length) => pageAligned(length).fill(expected.length + 1));
    await writeBlocks(segment, blocks);
    expected.push(...blocks);
  }
  await closeSegment(segment);
  expect(readFileSync(segment.path)).toEqual(Buffer.concat(expected));
  // None of these is for the kernel to refuse.
  expect(segment.direct).toBe(direct);
});

testWith(diskMissing)(
  "a disk that refuses pages past the cache is written through it",
  async () => {
    const segment = await createSegment(temporaryDirectory(), 0);
    // Memory between pages is what the kernel refuses most surely.
    const block = Buffer.allocUnsafeSlow(PAGE_BYTES + 1)
      .subarray(1)
      .fill(1);
    await writeBlocks(segment, [block]);
    await writeBlocks(segment, [block]);
    expect(openFiles(segment.path)).toBe(1);
    await closeSegment(segment);
    expect(openFiles(segment.path)).toBe(0);
    expect(readFileSync(segment.path)).toEqual(Buffer.concat([block, block]));
  },
);

testWith(firstMissing(diskMissing, missingPrograms("fincore")))(
  "whole pages leave nothing in the page cache",
  async () => {
    const segment = await createSegment(temporaryDirectory(), 0);
    for (let i = 0; i < 10; i++) await writeBlocks(segment, [pageAligned(PAGE_BYTES).fill(i)]);
    expect(cachedPages(segment.path)).toBe(0);
    await writeBlocks(segment, [Buffer.alloc(100, 10)]);
    expect(cachedPages(segment.path)).toBe(1);
    await closeSegment(segment);
  },
);
