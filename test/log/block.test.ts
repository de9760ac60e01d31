import { describe, expect, test } from "bun:test";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  blockAt,
  findMagic,
  HEADER_BYTES,
  LOG_BLOCK_BYTES_MAX,
  RECORD_HEADER_BYTES,
  recordsOf,
  sealBlock,
} from "../../src/log/block.ts";
import { readBlockRun } from "../../src/log/segment/block-run.ts";
import { temporaryDirectory } from "./support.ts";

/** A sealed block of these texts, with `zeros` bytes after the last one. */
function blockOf(first: number, texts: readonly string[], zeros = 0): Buffer {
  const records = texts.flatMap((text) => {
    const length = Buffer.alloc(RECORD_HEADER_BYTES);
    length.writeUInt32LE(text.length);
    return [length, Buffer.from(text)];
  });
  const block = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...records, Buffer.alloc(zeros)]);
  sealBlock(block, block.length, first, texts.length);
  return block;
}

describe("a block", () => {
  test("holds its records in order, whatever lies around it", () => {
    const block = blockOf(7, ["one", "", "three"], 3);
    const window = Buffer.concat([Buffer.alloc(5, 0xff), block, Buffer.from("rest")]);
    const found = blockAt(window, 5, 0)!;
    expect([found.first, found.end, found.bytes.equals(block)]).toEqual([7, 10, true]);
    const records = recordsOf(found).map(({ sequence, bytes }) => [sequence, `${bytes}`]);
    expect(records).toEqual([
      [7, "one"],
      [8, ""],
      [9, "three"],
    ]);
    expect([findMagic(window, 0), findMagic(window, 5), findMagic(window, 6)]).toEqual([5, 5, -1]);
  });

  test("may have no records, and ends where its window does", () => {
    const empty = blockOf(3, []);
    expect(empty).toHaveLength(HEADER_BYTES);
    expect(blockAt(empty, 0, 3)).toMatchObject({ first: 3, end: 3 });
    expect(recordsOf(blockAt(empty, 0, 3)!)).toEqual([]);
    for (let length = 0; length < HEADER_BYTES; length++) {
      expect(blockAt(empty.subarray(0, length), 0, 0)).toBeUndefined();
    }
    const block = blockOf(3, ["text"]);
    expect(blockAt(block.subarray(0, -1), 0, 0)).toBeUndefined();
  });

  test("is none if any of its bytes is another one", () => {
    const block = blockOf(3, ["some", "text"], 2);
    for (const at of block.keys()) {
      const damaged = Buffer.from(block);
      damaged[at]! ^= 0x01;
      expect([at, blockAt(damaged, 0, 0)]).toEqual([at, undefined]);
    }
  });

  test("begins at a whole number that is not below the smallest expected", () => {
    expect(blockAt(blockOf(4, ["a"]), 0, 4)?.first).toBe(4);
    expect(blockAt(blockOf(4, ["a"]), 0, 5)).toBeUndefined();
    for (const first of [0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(blockAt(blockOf(first, ["a"]), 0, 0)).toBeUndefined();
    }
  });

  test("has a bounded size, header included", () => {
    const bytes = LOG_BLOCK_BYTES_MAX - HEADER_BYTES;
    expect(blockAt(blockOf(0, [], bytes), 0, 0)?.bytes).toHaveLength(LOG_BLOCK_BYTES_MAX);
    expect(blockAt(blockOf(0, [], bytes + 1), 0, 0)).toBeUndefined();
  });

  test("with a record that would end beyond it breaks an invariant", () => {
    const block = Buffer.alloc(HEADER_BYTES + RECORD_HEADER_BYTES + 2);
    const readable = (length: number) => {
      block.writeUInt32LE(length, HEADER_BYTES);
      sealBlock(block, block.length, 0, 1);
      return recordsOf(blockAt(block, 0, 0)!).length;
    };
    expect(readable(2)).toBe(1);
    expect(() => readable(3)).toThrow("end within its bytes");
  });
});

describe("a run of blocks", () => {
  const one = blockOf(5, ["one", "two"]);
  const two = blockOf(7, ["three"]);
  /** Reads a run from a file with these parts. */
  const run = async (parts: readonly Buffer[], offset = 0, sequenceMin = 0, bytesMax = 1 << 20) => {
    const path = join(temporaryDirectory(), "segment");
    writeFileSync(path, Buffer.concat(parts));
    const fd = openSync(path, "r");
    const { blocks, ...found } = await readBlockRun(fd, { offset, sequenceMin, bytesMax });
    closeSync(fd);
    return { firsts: blocks.map(({ first }) => first), ...found };
  };
  const [a, b] = [one.length, two.length];

  test("has the complete blocks from an offset on that the bytes read hold", async () => {
    const both = { firsts: [5, 7], start: 0, end: a + b, damaged: 0 };
    expect(await run([one, two])).toEqual(both);
    expect(await run([one, two], 0, 5, a + b)).toEqual(both);
    expect(await run([one, two], 0, 5, a + b - 1)).toEqual({ ...both, firsts: [5], end: a });
    expect(await run([one, two], a, 7)).toEqual({ ...both, firsts: [7], start: a });
    expect(await run([one, two, one])).toEqual(both);
  });

  test("is empty at the end of the file", async () => {
    const empty = { firsts: [], start: a, end: a, damaged: 0 };
    expect(await run([one], a)).toEqual(empty);
    expect(await run([one], a + 1)).toEqual({ ...empty, start: a + 1, end: a + 1 });
  });

  test("begins after bytes that hold no block, which it counts", async () => {
    const noise = Buffer.alloc(9, one);
    expect(await run([noise, one, two])).toEqual({
      ...{ firsts: [5, 7], start: 9, end: 9 + a + b, damaged: 9 },
    });
    expect(await run([one, noise, two], a, 7)).toEqual({
      ...{ firsts: [7], start: a + 9, end: a + 9 + b, damaged: 9 },
    });
    expect(await run([noise])).toEqual({ firsts: [], start: 9, end: 9, damaged: 9 });
    // Blocks of an earlier use of the file are no blocks.
    expect(await run([one, two], 0, 6)).toEqual({
      ...{ firsts: [7], start: a, end: a + b, damaged: a },
    });
    expect(await run([one], 0, 6)).toEqual({ firsts: [], start: a, end: a, damaged: a });
  });

  test("is found behind more bytes without a block than one block can have", async () => {
    const largest = blockOf(9, [], LOG_BLOCK_BYTES_MAX - HEADER_BYTES);
    for (const bytes of [-1, 0, 1].map((more) => LOG_BLOCK_BYTES_MAX + more)) {
      expect(await run([Buffer.alloc(bytes), largest, one], 0, 1, 100)).toMatchObject({
        ...{ firsts: [9], start: bytes, damaged: bytes },
      });
    }
  });
});
