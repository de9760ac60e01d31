import { describe, expect, spyOn, test } from "bun:test";
import { PartitionReader } from "../../src/cluster/events/partition-reader.ts";
import { sequenceOf } from "../../src/cluster/events/sequence.ts";
import type { FetchResult } from "../../src/cluster/topics/fetch-answer.ts";
import type { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { HEADER_BYTES, RECORD_HEADER_BYTES, sealBlock } from "../../src/log/block.ts";
import type { LossReport } from "../../src/log/loss-report.ts";
import { passTime } from "../pass-time.ts";

test("a partition reader that gets blocks in a descending order breaks an invariant", () => {
  const losses = { damaged() {}, missing() {}, forget() {} };
  const reader = new PartitionReader({
    name: "k0",
    partition: 0,
    fetcher: {} as Fetcher,
    losses: losses as unknown as LossReport,
    first: 0n,
    trim: async () => {},
    cacheBytesMax: 0,
  });
  const value = Buffer.alloc(1);
  const fetched = (offsets: bigint[]) => ({
    values: offsets.map((offset) => ({ offset, value })),
    first: 0n,
    end: 9n,
    isOutOfRange: false,
  });
  expect(() => reader.addFetched(fetched([3n, 4n]))).not.toThrow();
  expect(() => reader.addFetched(fetched([6n, 5n]))).toThrow(
    "Broken invariant: Block offsets of a partition ascend",
  );
});

test.each([
  [undefined, []],
  [0n, [[{ from: 0, to: sequenceOf(5n) }, 5]]],
])(
  "a reader opened when the first block was %p reports as lost what it knew to be there",
  async (first, lost) => {
    const missing: unknown[] = [];
    const losses = {
      missing: (_: string, range: object, blocks: number) => missing.push([range, blocks]),
    };
    const fetched = { values: [], first: 5n, end: 5n, isOutOfRange: true };
    const reader = new PartitionReader({
      name: "k0",
      partition: 0,
      fetcher: { fetch: async () => fetched } as unknown as Fetcher,
      losses: losses as unknown as LossReport,
      first,
      trim: async () => {},
      cacheBytesMax: 0,
    });
    reader.setOwned(true);
    reader.advance(sequenceOf(5n));
    expect(await reader.read(0, 1)).toEqual({ records: [], next: sequenceOf(5n) });
    expect(missing).toEqual(lost);
    expect(reader.first()).toBe(sequenceOf(5n));
  },
);

/** A sealed block with these texts as records. */
function blockOf(texts: readonly string[]): Buffer {
  const records = texts.flatMap((text) => {
    const length = Buffer.alloc(RECORD_HEADER_BYTES);
    length.writeUInt32LE(text.length);
    return [length, Buffer.from(text)];
  });
  const block = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...records]);
  sealBlock(block, block.length, 0, texts.length);
  return block;
}

/** A partition whose broker has these blocks by offset, and a reader of it. */
function openReader(
  values: Map<bigint, Buffer>,
  end: bigint,
  more: { cacheBytesMax?: number } = {},
) {
  const told: unknown[] = [];
  const fetched: bigint[] = [];
  const firstOf = () => values.keys().next().value ?? end;
  const broker = {
    fetch: async (_: number, offset: bigint): Promise<FetchResult> => {
      fetched.push(offset);
      const isOutOfRange = offset < firstOf();
      const found = isOutOfRange ? [] : [...values].filter(([it]) => it >= offset).slice(0, 2);
      return {
        values: found.map(([offset, value]) => ({ offset, value })),
        first: firstOf(),
        end,
        isOutOfRange,
      };
    },
  };
  const losses = {
    missing: (_: string, { from, to }: { from: number; to: number }, blocks: number) =>
      told.push(["missing", from / sequenceOf(1n), to / sequenceOf(1n), blocks]),
    damaged: (...damage: unknown[]) => told.push(["damaged", ...damage]),
    forget: (log: string, sequence: number) => told.push(["forget", log, sequence]),
  };
  const trimmed: bigint[] = [];
  const parts = { release: async () => {} };
  const reader = new PartitionReader({
    name: "k0",
    partition: 0,
    fetcher: { fetch: (it: number, from: bigint) => broker.fetch(it, from) } as unknown as Fetcher,
    losses: losses as unknown as LossReport,
    first: firstOf(),
    trim: async (offset) => {
      trimmed.push(offset);
      await parts.release();
    },
    cacheBytesMax: 1 << 20,
    ...more,
  });
  reader.advance(sequenceOf(end));
  const read = async (from: number, bytesMax = 1 << 20) => {
    const { records, next } = await reader.read(from, bytesMax);
    return [records.map((it) => Buffer.from(it.bytes).toString()).join(), next] as const;
  };
  return { reader, broker, read, told, fetched, trimmed, parts };
}

const three = () =>
  new Map([
    [3n, blockOf(["a", "b"])],
    [4n, blockOf(["c"])],
    [5n, blockOf(["d", "e"])],
  ]);
const at = (offset: bigint, index = 0) => sequenceOf(offset) + index;

describe("a partition reader", () => {
  test("returns records from a sequence number on, up to the end that is known", async () => {
    const { reader, read } = openReader(three(), 6n);
    expect([reader.first(), reader.end()]).toEqual([at(3n), at(6n)]);
    expect(await read(at(3n))).toEqual(["a,b,c,d,e", at(6n)]);
    expect(await read(at(3n, 1))).toEqual(["b,c,d,e", at(6n)]);
    expect(await read(at(4n, 1))).toEqual(["d,e", at(6n)]);
    expect(await read(at(6n))).toEqual(["", at(6n)]);
    const { records } = await reader.read(at(5n), 1);
    expect(records.map(({ sequence }) => sequence)).toEqual([at(5n), at(5n, 1)]);
    const behind = openReader(three(), 4n);
    expect(await behind.read(at(3n))).toEqual(["a,b", at(4n)]);
    behind.reader.advance(at(5n));
    behind.reader.advance(at(3n));
    expect(await behind.read(at(3n))).toEqual(["a,b,c", at(5n)]);
  });

  test("stops after the block with which it has enough bytes", async () => {
    const { read } = openReader(three(), 6n);
    expect(await read(at(3n), 0)).toEqual(["a,b", at(4n)]);
    expect(await read(at(3n), 34)).toEqual(["a,b", at(4n)]);
    expect(await read(at(3n), 35)).toEqual(["a,b,c", at(5n)]);
  });

  test("fetches a block once, and shares a fetch in flight", async () => {
    const { reader, read, fetched } = openReader(three(), 6n);
    await Promise.all([read(at(3n)), read(at(3n))]);
    expect(fetched).toEqual([3n, 5n]);
    await read(at(3n));
    expect(fetched).toEqual([3n, 5n]);
    await reader.close();
    // A cache without room holds the newest blocks alone.
    const small = openReader(three(), 6n, { cacheBytesMax: 40 });
    await small.read(at(3n));
    await small.read(at(3n));
    expect(small.fetched.filter((offset) => offset === 3n)).toHaveLength(2);
  });

  test("reports a damaged block once, and continues with the next one", async () => {
    const broken = blockOf(["x"]);
    broken[HEADER_BYTES + RECORD_HEADER_BYTES]! ^= 1;
    const values = three().set(4n, broken);
    const { read, told } = openReader(values, 6n, { cacheBytesMax: 0 });
    for (let n = 0; n < 2; n++) expect(await read(at(3n))).toEqual(["a,b,d,e", at(6n)]);
    expect(await read(at(4n))).toEqual(["d,e", at(6n)]);
    const passedOver = ["missing", 4, 5, 1];
    expect(told).toEqual([
      ["damaged", "k0", "k0", 4, broken.length],
      ...[passedOver, passedOver, passedOver],
    ]);
    const last = openReader(new Map([[3n, broken]]), 4n);
    expect(await last.read(at(3n))).toEqual(["", at(4n)]);
  });

  test("reports deleted blocks as lost only while its node delivers the partition", async () => {
    const values = three();
    const { reader, read, told } = openReader(values, 6n, { cacheBytesMax: 0 });
    values.delete(3n);
    expect(await read(at(3n))).toEqual(["c,d,e", at(6n)]);
    expect([reader.first(), told]).toEqual([at(4n), []]);
    reader.setOwned(true);
    expect(await read(at(3n, 1))).toEqual(["c,d,e", at(6n)]);
    expect(told).toEqual([["missing", 3, 4, 1]]);
    values.delete(4n);
    expect(await read(at(4n))).toEqual(["d,e", at(6n)]);
    expect(told.slice(1)).toEqual([["missing", 4, 5, 1]]);
    reader.setOwned(false);
    expect(await read(0)).toEqual(["d,e", at(6n)]);
    expect(told).toHaveLength(2);
  });

  test("reports no block as lost that it has deleted itself", async () => {
    const { reader, read, told, trimmed } = openReader(three(), 6n);
    reader.setOwned(true);
    await reader.trim(at(3n, 1));
    expect([trimmed, told]).toEqual([[], []]);
    await reader.trim(at(4n, 1));
    expect([trimmed, told]).toEqual([[4n], [["forget", "k0", at(4n)]]]);
    expect(reader.first()).toBe(at(4n));
    expect(await read(at(3n))).toEqual(["c,d,e", at(6n)]);
    await reader.trim(at(9n));
    expect([trimmed, reader.first()]).toEqual([[4n, 6n], at(6n)]);
    expect(told.filter(([kind]: any) => kind === "missing")).toEqual([]);
  });

  test("does not wait for a trim beyond its stop, and begins where it began", async () => {
    const { reader, parts, told } = openReader(three(), 6n);
    parts.release = () => new Promise(() => {});
    const stop = new AbortController();
    const trimming = reader.trim(at(5n), stop.signal);
    stop.abort();
    await trimming;
    expect([reader.first(), told]).toEqual([at(3n), []]);
  });

  test("reads a block again while a new leader does not have it, for some seconds", async () => {
    const values = three();
    const { read } = openReader(values, 6n);
    const last = values.get(5n)!;
    values.delete(5n);
    let sleeps = 0;
    const pause = spyOn(Bun, "sleep").mockImplementation(async () => {
      sleeps += 1;
      if (sleeps === 3) values.set(5n, last);
    });
    try {
      expect(await read(at(5n))).toEqual(["d,e", at(6n)]);
      expect(sleeps).toBe(3);
      const stuck = openReader(three(), 7n);
      stuck.broker.fetch = async () => {
        passTime(5_001);
        return { values: [], first: 3n, end: 7n, isOutOfRange: false };
      };
      await expect(stuck.read(at(6n))).rejects.toThrow("Block 6 of k0 is not there");
    } finally {
      pause.mockRestore();
    }
  });

  test("has nothing of its former blocks, and no loss, once its offsets have changed", async () => {
    const values = three();
    const { reader, read, told, fetched } = openReader(values, 6n);
    reader.setOwned(true);
    await read(at(3n));
    reader.reset(8n, 8n);
    expect([reader.first(), reader.end()]).toEqual([at(8n), at(8n)]);
    values.clear();
    values.set(8n, blockOf(["f"]));
    reader.advance(at(9n));
    fetched.length = 0;
    expect(await read(at(3n))).toEqual(["f", at(9n)]);
    expect([fetched, told]).toEqual([[8n], []]);
  });

  test("takes the blocks that a follower has fetched", async () => {
    const { reader, read, broker, fetched } = openReader(three(), 3n);
    const blocks = reader.addFetched(await broker.fetch(0, 3n));
    expect(blocks.map(({ first, end }) => [first, end])).toEqual([
      [at(3n), at(3n, 2)],
      [at(4n), at(4n, 1)],
    ]);
    expect(reader.end()).toBe(at(5n));
    fetched.length = 0;
    expect(await read(at(3n))).toEqual(["a,b,c", at(5n)]);
    expect(fetched).toEqual([]);
    expect(reader.countBetween(at(3n), at(5n))).toBe(3);
    expect(reader.countBetween(0, at(4n))).toBe(2);
    const nothing = { values: [], first: 7n, end: 7n, isOutOfRange: true };
    expect(reader.addFetched(nothing)).toEqual([]);
    expect([reader.first(), reader.end()]).toEqual([at(7n), at(7n)]);
  });

  test("divides the partition into at most 64 parts, whose bounds stay while it grows", async () => {
    const { reader, read } = openReader(three(), 6n);
    const firsts = () => reader.parts().map(({ first }) => first / at(1n));
    expect(reader.parts()).toEqual([3n, 4n, 5n, 6n].map((it) => ({ first: at(it), bytes: 0 })));
    await read(at(3n));
    const bytes = Math.round((34 + 29 + 34) / 3);
    expect(reader.parts().map((part) => part.bytes)).toEqual([bytes, bytes, bytes, 0]);
    reader.advance(at(66n));
    expect(firsts()).toEqual([...Array.from({ length: 63 }, (_, n) => n + 3), 66]);
    reader.advance(at(67n));
    const twos = [3, ...Array.from({ length: 32 }, (_, n) => 4 + 2 * n)];
    expect(firsts()).toEqual([...twos, 67]);
    expect(reader.parts().at(-2)!.bytes).toBe(bytes);
    reader.advance(at(130n));
    const more = firsts();
    expect(more.length).toBeLessThanOrEqual(65);
    expect(more.slice(0, 33)).toEqual(twos);
    expect(more.at(-1)).toBe(130);
    const empty = openReader(new Map(), 9n);
    expect(empty.reader.parts()).toEqual([{ first: at(9n), bytes: 0 }]);
  });
});
