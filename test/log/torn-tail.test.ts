import { expect, test } from "bun:test";
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { HEADER_BYTES, LOG_BLOCK_BYTES_MAX } from "../../src/log/block.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { listSegments } from "../../src/log/segment/segments.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import {
  listeningLogger,
  openTextWriter,
  quiet,
  readAll,
  temporaryDirectory,
  textCodec,
} from "./support.ts";

/** Six blocks of one to three records, in one segment. */
const BLOCKS = [["a"], ["bb", "b"], ["ccc"], ["d", "dd", ""], ["e".repeat(40)], ["f", "ff"]];
const RECORDS = BLOCKS.flat();

const root = temporaryDirectory();
const original = join(root, "original");
const writer = await openTextWriter(original);
for (const block of BLOCKS) await Promise.all(block.map((text) => writer.append(text)));
await writer.close();
const [segment] = listSegments(original);
const bytes = readFileSync(segment!.path);
/** Where each block ends, and how many records there are up to there. */
const ends = BLOCKS.map((_, i) => {
  const upTo = BLOCKS.slice(0, i + 1);
  const size = (block: string[]) =>
    HEADER_BYTES + block.reduce((sum, text) => sum + 4 + text.length, 0);
  return {
    offset: upTo.reduce((sum, block) => sum + size(block), 0),
    records: upTo.flat().length,
  };
});

let copies = 0;
function copy(): { directory: string; path: string } {
  const directory = join(root, `copy-${copies++}`);
  mkdirSync(directory);
  const path = join(directory, basename(segment!.path));
  copyFileSync(segment!.path, path);
  return { directory, path };
}

/** Opens a damaged log, appends one record and returns everything in it, and where it opened. */
async function recoverAndAppend(directory: string) {
  const { logger, lines } = listeningLogger();
  const recovered = await openLogWriter({ directory, codec: textCodec, logger });
  const opened = recovered.durable();
  await recovered.append("new");
  const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
  reader.advance(recovered.durable());
  const all = await readAll(reader);
  await recovered.close();
  return { opened, all, lines };
}

test("the log under test has the expected blocks", () => {
  expect(ends.at(-1)).toEqual({ offset: bytes.length, records: RECORDS.length });
});

test("a log cut at any byte recovers up to its last whole block, and continues", async () => {
  for (let cut = 0; cut < bytes.length; cut++) {
    const { directory, path } = copy();
    truncateSync(path, cut);
    const kept = ends.findLast(({ offset }) => offset <= cut) ?? { offset: 0, records: 0 };
    const { opened, all, lines } = await recoverAndAppend(directory);
    expect(opened).toBe(kept.records);
    const expected = [...RECORDS.slice(0, kept.records), "new"];
    expect(all).toEqual(expected.map((text, i) => [i, text]));
    // The torn bytes are gone from the disk; one log line reports it.
    if (kept.records > 0) expect(statSync(path).size).toBe(kept.offset);
    expect(lines.map(({ msg, cutBytes }) => [msg, cutBytes])).toEqual(
      cut === kept.offset ? [] : [["torn tail cut from the event log", cut - kept.offset]],
    );
  }
});

test("a log cut at any byte and followed by garbage recovers up to its last whole block", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(bytes.length - 1),
      fc.uint8Array({ minLength: 1, maxLength: 5000 }),
      async (cut, garbage) => {
        const { directory, path } = copy();
        writeFileSync(path, Buffer.concat([bytes.subarray(0, cut), garbage]));
        // Garbage may happen to complete the block that was cut.
        const differs = garbage.findIndex((byte, index) => byte !== bytes[cut + index]);
        const intact = cut + (differs < 0 ? garbage.length : differs);
        const kept = ends.findLast(({ offset }) => offset <= intact)?.records ?? 0;
        const { opened, all } = await recoverAndAppend(directory);
        expect(opened).toBe(kept);
        expect(all.map(([, text]) => text)).toEqual([...RECORDS.slice(0, kept), "new"]);
      },
    ),
    { numRuns: 100, examples: [[236, Uint8Array.from([102, 0])]] },
  );
});

test("a flipped bit costs its block and no other", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(7), async (at, bit) => {
      const { directory, path } = copy();
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << bit;
      writeFileSync(path, flipped);
      const lost = ends.findIndex(({ offset }) => at < offset);
      const last = lost === BLOCKS.length - 1;
      const { opened, all, lines } = await recoverAndAppend(directory);
      expect(opened).toBe(last ? ends[lost - 1]!.records : RECORDS.length);
      const whole = BLOCKS.flatMap((block, i) => (i === lost ? [] : block));
      expect(all.map(([, text]) => text)).toEqual([...whole, "new"]);
      // Every record keeps its number, past the gap too.
      for (const [sequence, text] of all) {
        if (sequence < opened) expect(RECORDS[sequence]).toBe(text);
      }
      const told = lines.map(({ msg }) => msg);
      if (last) expect(told[0]).toBe("torn tail cut from the event log");
      else expect(told[0]).toBe("damage inside the event log, whole blocks follow it");
    }),
    { numRuns: 300 },
  );
});

test("recovers a torn tail in a segment of many windows", async () => {
  const directory = join(root, "large");
  const large = await openTextWriter(directory);
  const texts = Array.from({ length: 40 }, (_, i) => `${i}`.padEnd(300_000, "."));
  await Promise.all(texts.map((text) => large.append(text)));
  await large.close();
  const path = listSegments(directory)[0]!.path;
  truncateSync(path, readFileSync(path).length - 1);
  const again = await openTextWriter(directory);
  expect(again.durable()).toBe(39);
  await again.append("new");
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(40);
  expect((await readAll(reader)).map(([, text]) => text)).toEqual([...texts.slice(0, 39), "new"]);
  await again.close();
});

test("blocks with numbers that the log has passed are ignored", async () => {
  const { directory, path } = copy();
  writeFileSync(path, Buffer.concat([bytes, bytes.subarray(0, ends[2]!.offset)]));
  const { opened, all, lines } = await recoverAndAppend(directory);
  expect(opened).toBe(RECORDS.length);
  expect(all.map(([, text]) => text)).toEqual([...RECORDS, "new"]);
  expect(lines).toMatchObject([{ cutBytes: ends[2]!.offset }]);
});

test("blocks are found after damage of any length", async () => {
  const { directory, path } = copy();
  for (const damage of [LOG_BLOCK_BYTES_MAX - 1, LOG_BLOCK_BYTES_MAX, 1.5 * LOG_BLOCK_BYTES_MAX]) {
    const garbage = Buffer.alloc(damage, 0xf5);
    writeFileSync(path, Buffer.concat([garbage, bytes.subarray(ends[0]!.offset)]));
    const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
    reader.advance(RECORDS.length);
    const texts = (await readAll(reader)).map(([, text]) => text);
    expect(texts).toEqual(RECORDS.slice(ends[0]!.records));
  }
});

test("a start without a write leaves nothing to skip", async () => {
  const directory = join(root, "restarts");
  for (let i = 0; i < 3; i++) await (await openTextWriter(directory)).close();
  const last = await openTextWriter(directory);
  await last.append("first");
  expect(listSegments(directory).map(({ first }) => first)).toEqual([0]);
  await last.close();
});
