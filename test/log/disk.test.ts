import { ptr } from "bun:ffi";
import { afterEach, expect, mock, spyOn, test } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  BLOCK_RECORDS_MAX,
  blockAt,
  HEADER_BYTES,
  LOG_BLOCK_BYTES_MAX,
  RECORD_HEADER_BYTES,
  sealBlock,
} from "../../src/log/block.ts";
import { Batcher } from "../../src/log/flush-batch.ts";
import { PAGE_BYTES, pageAligned } from "../../src/log/io/page.ts";
import { readAt, readPastErrors } from "../../src/log/io/read-at.ts";
import { expectReadable, readOrPassOver } from "../../src/log/io/unreadable.ts";
import { countRefusedWithin, recordRefused } from "../../src/log/refused-records.ts";
import {
  closeSegment,
  createSegment,
  mayBlock,
  writeBlocks,
} from "../../src/log/segment/segment-file.ts";
import { missingFile, testWith } from "../counterpart.ts";
import { failReads, healReads, temporaryDirectory } from "./support.ts";

/** Operations of a log on its disk, one by one. */

afterEach(() => {
  mock.restore();
  healReads();
});

test("memory for direct writes begins at a page for any length", () => {
  for (const bytes of [1, 100, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 1, 1 << 20]) {
    for (let n = 0; n < 20; n++) {
      const buffer = pageAligned(bytes);
      expect(buffer.length).toBe(bytes);
      expect(ptr(buffer) % PAGE_BYTES).toBe(0);
    }
  }
});

test("files of a log are readable by their owner and group alone", async () => {
  const directory = temporaryDirectory();
  recordRefused(directory, { from: 0, to: 1 });
  const segment = await createSegment(directory, 0);
  await closeSegment(segment);
  for (const path of [segment.path, join(directory, "refused")]) {
    expect(statSync(path).mode & 0o137).toBe(0);
  }
});

test("a block is filled to its last byte", () => {
  const codec = {
    bytesMax: (size: number) => size,
    encode: (size: number, _: Buffer, at: number) => at + size,
  };
  const batcher = new Batcher(codec, 0);
  const half = (LOG_BLOCK_BYTES_MAX - HEADER_BYTES) / 2 - RECORD_HEADER_BYTES;
  batcher.add([half]);
  batcher.add([half]);
  expect(batcher.waiting.blocks.map(({ end }) => end)).toEqual([LOG_BLOCK_BYTES_MAX]);
  batcher.add([0]);
  expect(batcher.waiting.blocks.map(({ first, count }) => [first, count])).toEqual([
    [0, 2],
    [2, 1],
  ]);
  batcher.add([2 * half + RECORD_HEADER_BYTES]);
  expect(() => batcher.add([2 * half + RECORD_HEADER_BYTES + 1])).toThrow(RangeError);
  expect(batcher.waiting.count).toBe(4);
});

test("a block does not count more records than its bytes have lengths of", () => {
  const count = 8;
  const end = HEADER_BYTES + count * RECORD_HEADER_BYTES;
  const block = Buffer.alloc(end);
  sealBlock(block, end, 0, count);
  expect(blockAt(block, 0, 0)).toMatchObject({ first: 0, end: count });
  expect(() => sealBlock(block, end, 0, count + 1)).toThrow("records that a block counts fit");
  expect(() => sealBlock(block, end + 1, 0, count)).toThrow("A block ends within its buffer");
});

test("the records of a request lie in one block when they fit one", () => {
  const codec = {
    bytesMax: (size: number) => size,
    encode: (size: number, _: Buffer, at: number) => at + size,
  };
  const batcher = new Batcher(codec, 0);
  const counts = () => batcher.waiting.blocks.map(({ count }) => count);
  const third = Math.floor(LOG_BLOCK_BYTES_MAX / 3);
  batcher.add([third]);
  batcher.add([third]);
  batcher.add([third, 100]);
  expect(counts()).toEqual([2, 2]);
  batcher.add(Array<number>(BLOCK_RECORDS_MAX - 2).fill(0));
  expect(counts()).toEqual([2, BLOCK_RECORDS_MAX]);
  batcher.add([0, third, third, third, 0]);
  expect(counts()).toEqual([2, BLOCK_RECORDS_MAX, 3, 2]);
  expect(batcher.next).toBe(2 + BLOCK_RECORDS_MAX + 5);
});

const twoRequests: [lacking: string, number[], number[]][] = [
  ["bytes", [LOG_BLOCK_BYTES_MAX / 2], [100, LOG_BLOCK_BYTES_MAX / 2]],
  ["records", Array<number>(BLOCK_RECORDS_MAX - 1).fill(0), [0, 0]],
];
test.each(twoRequests)(
  "a request that fits one block is not divided where the last block lacks %s",
  (_, first, second) => {
    const codec = {
      bytesMax: (size: number) => size,
      encode: (size: number, _: Buffer, at: number) => at + size,
    };
    const batcher = new Batcher(codec, 0);
    batcher.add(first);
    batcher.add(second);
    const counts = batcher.waiting.blocks.map(({ count }) => count);
    expect(counts).toEqual([first.length, second.length]);
  },
);

test("a batch that begins with a page has pages as blocks, another one ends with a page", () => {
  const codec = {
    bytesMax: (size: number) => size,
    encode: (size: number, _: Buffer, at: number) => at + size,
  };
  const sizes = [600_000, 500_000, 700_000];
  const lengthsAt = (offset: number) => {
    const batcher = new Batcher(codec, 0);
    for (const size of sizes) batcher.add([size]);
    return batcher
      .take()
      .seal(offset)
      .map(({ length }) => length);
  };
  const whole = sizes.map((size) => HEADER_BYTES + RECORD_HEADER_BYTES + size);
  const padded = whole.map((length) => Math.ceil(length / PAGE_BYTES) * PAGE_BYTES);
  expect(lengthsAt(0)).toEqual(padded);
  expect(lengthsAt(3 * PAGE_BYTES)).toEqual(padded);
  const lengths = lengthsAt(100);
  expect(lengths.slice(0, 2)).toEqual(whole.slice(0, 2));
  const end = 100 + lengths.reduce((sum, length) => sum + length, 0);
  expect(end % PAGE_BYTES).toBe(0);
  expect(lengths[2]! - whole[2]!).toBeLessThan(PAGE_BYTES);
});

test("only small batches to a quick disk may block the event loop", () => {
  expect(mayBlock({ quick: true }, 256 << 10)).toBe(true);
  expect(mayBlock({ quick: true }, (256 << 10) + 1)).toBe(false);
  expect(mayBlock({ quick: false }, 1)).toBe(false);
});

/** Writes to memory are as quick as a disk can be. */
const memory = "/dev/shm";

testWith(missingFile(memory))(
  "a disk that is quick is written in place",
  async () => {
    const directory = mkdtempSync(`${memory}/pixelmill-log-`);
    const segment = await createSegment(directory, 0);
    try {
      // A busy machine may be slow many times.
      while (!segment.quick) await writeBlocks(segment, [Buffer.alloc(100, 1)]);
      const { size } = statSync(segment.path);
      const written = writeBlocks(segment, [Buffer.alloc(100, 1)]);
      expect(statSync(segment.path).size).toBe(size + 100);
      await written;
    } finally {
      await closeSegment(segment);
      rmSync(directory, { recursive: true });
    }
  },
  300_000,
);

const broken = (code: string) => Object.assign(new Error(code), { code });

test("an unreadable offset is read three times before it is passed over", async () => {
  const directory = temporaryDirectory();
  const waits: unknown[] = [];
  spyOn(Bun, "sleep").mockImplementation(async (ms) => void waits.push(ms));
  for (const [failures, outcome, sleeps] of [
    [0, "read", 0],
    [1, "read", 1],
    [2, "read", 2],
    [3, "passed over", 2],
  ] as const) {
    waits.length = 0;
    let reads = 0;
    const read = async () => {
      if (++reads <= failures) throw broken("EIO");
      return "read";
    };
    expect(await readOrPassOver(directory, read, async () => "passed over")).toBe(outcome);
    expect(waits.length).toBe(sleeps);
    expect(reads).toBe(Math.min(failures + 1, 3));
  }
  // The page that tried the disk is gone.
  expect(existsSync(join(directory, "probe"))).toBe(false);
  const refuse = () => Promise.reject(broken("EACCES"));
  await expect(readOrPassOver(directory, refuse, async () => "")).rejects.toThrow("EACCES");
});

test("a page beyond the end of the file does not count as readable", async () => {
  const path = join(temporaryDirectory(), "file");
  writeFileSync(path, Buffer.alloc(PAGE_BYTES + 1));
  for (const offset of [0, PAGE_BYTES - 1, PAGE_BYTES, 2 * PAGE_BYTES - 1]) {
    await expectReadable(path, offset);
  }
  await expect(expectReadable(path, 2 * PAGE_BYTES)).rejects.toThrow(`at ${2 * PAGE_BYTES}`);
});

test("a direct read that fails is not replaced by a cached page", async () => {
  const path = join(temporaryDirectory(), "file");
  writeFileSync(path, Buffer.alloc(PAGE_BYTES));
  const codes = ["EIO"];
  failReads(() => codes.shift());
  await expect(expectReadable(path, 0)).rejects.toThrow("EIO");
  // A file system without direct reads is asked for another one.
  codes.push("EINVAL");
  await expectReadable(path, 0);
  expect(codes).toEqual([]);
});

test("bad pages of a file are read as zeros, and other errors are thrown", async () => {
  const path = join(temporaryDirectory(), "file");
  const content = Buffer.alloc(3 * PAGE_BYTES + 10, "abc");
  writeFileSync(path, content);
  const fd = openSync(path, "r");
  expect((await readAt(fd, 1, 1)).toString()).toBe("b");
  expect((await readAt(fd, 0, 0)).length).toBe(0);
  failReads((_, from, to) => (from < 2 * PAGE_BYTES && to > PAGE_BYTES ? "EIO" : undefined));
  for (const offset of [0, 100, PAGE_BYTES - 1]) {
    const expected = Buffer.from(content);
    expected.fill(0, PAGE_BYTES, 2 * PAGE_BYTES);
    const read = await readPastErrors(fd, offset, content.length - offset);
    expect(read.equals(expected.subarray(offset))).toBe(true);
  }
  for (const codes of [["EACCES"], ["EIO", "EACCES"]]) {
    failReads(() => codes.shift());
    await expect(readPastErrors(fd, 0, 100)).rejects.toThrow("EACCES");
  }
  closeSync(fd);
});

test("unreadable notes of refused numbers are an error, not an empty list", () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, "refused"));
  expect(() => countRefusedWithin(directory, { from: 0, to: 1 })).toThrow("EISDIR");
});

test("a block on disk has the bytes of earlier versions", () => {
  const buffer = Buffer.alloc(HEADER_BYTES + RECORD_HEADER_BYTES + 2);
  buffer.writeUInt32LE(2, HEADER_BYTES);
  buffer.write("ab", HEADER_BYTES + RECORD_HEADER_BYTES);
  sealBlock(buffer, buffer.length, 513, 1);
  expect(buffer.toString("hex")).toBe(
    "f55058ff0600000001000000a3f4f00b0000000000088040020000006162",
  );
  expect(blockAt(buffer, 0, 513)).toMatchObject({ first: 513, end: 514 });
  expect(blockAt(buffer, 0, 514)).toBeUndefined();
});

test("the last 10,000 notes of refused numbers count", () => {
  const directory = temporaryDirectory();
  const lines = Array.from({ length: 10_001 }, (_, n) => `${n} ${n + 1}\n`);
  writeFileSync(join(directory, "refused"), lines.join(""));
  expect(countRefusedWithin(directory, { from: 0, to: 20_000 })).toBe(10_000);
  expect(countRefusedWithin(directory, { from: 0, to: 1 })).toBe(0);
});

test("refused numbers that two notes name count once", () => {
  const directory = temporaryDirectory();
  // A disk that fails again before any record is stored: both ranges begin after the last one.
  recordRefused(directory, { from: 10, to: 20 });
  recordRefused(directory, { from: 10, to: 25 });
  expect(countRefusedWithin(directory, { from: 0, to: 100 })).toBe(15);
  expect(countRefusedWithin(directory, { from: 12, to: 22 })).toBe(10);
});

test("refused numbers are counted within a gap", () => {
  const directory = temporaryDirectory();
  expect(countRefusedWithin(directory, { from: 0, to: 100 })).toBe(0);
  recordRefused(directory, { from: 10, to: 20 });
  recordRefused(directory, { from: 25, to: 26 });
  for (const [from, to, count] of [
    [0, 100, 11],
    [0, 10, 0],
    [0, 11, 1],
    [12, 15, 3],
    [19, 25, 1],
    [19, 26, 2],
    [26, 100, 0],
  ] as const) {
    expect(countRefusedWithin(directory, { from, to })).toBe(count);
  }
});
