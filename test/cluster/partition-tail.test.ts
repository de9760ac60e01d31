import { heapStats } from "bun:jsc";
import { expect, spyOn, test } from "bun:test";
import { pino } from "pino";
import { InvariantError } from "../../src/assert.ts";
import type { PartitionReader } from "../../src/cluster/events/partition-reader.ts";
import { PartitionTail } from "../../src/cluster/events/partition-tail.ts";
import type { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { sourceOfRecord } from "../../src/event/record.ts";
import { type Block, HEADER_BYTES, RECORD_HEADER_BYTES } from "../../src/log/block.ts";
import type { DurableRange } from "../../src/log/event-log.ts";
import { listeningLogger } from "../log/support.ts";
import { sdkRecord } from "../pipeline/repetitions-rig.ts";
import { until } from "../until.ts";

/** A block with these records from `first` on. */
function blockOf(first: number, records: readonly Buffer[]): Block {
  const parts = records.flatMap((record) => {
    const length = Buffer.alloc(RECORD_HEADER_BYTES);
    length.writeUInt32LE(record.length);
    return [length, record];
  });
  const bytes = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...parts]);
  return { first, end: first + records.length, bytes };
}

test("news of blocks names their sources, and none when a newer version wrote a record", async () => {
  const newer = sdkRecord(2, "two");
  newer[0] = 5;
  const known = sdkRecord(1, "one");
  const blocks = [blockOf(0, [known]), blockOf(1, [known, newer]), blockOf(3, [known])];
  const news: (DurableRange | undefined)[] = [];
  const told = Promise.withResolvers<void>();
  let end = 0;
  const reader = {
    end: () => end,
    addFetched(fetched: Block[]) {
      end = fetched.at(-1)!.end;
      return fetched;
    },
  };
  const fetcher = {
    fetch: async () => {
      const block = blocks.shift();
      return block === undefined ? new Promise(() => {}) : [block];
    },
  };
  const tail = new PartitionTail({
    fetcher: fetcher as unknown as Fetcher,
    nameOf: (partition) => `k${partition}`,
    sourceOf: sourceOfRecord,
    onNews(range) {
      news.push(range);
      if (news.length === 4) told.resolve();
    },
    logger: pino({ level: "silent" }),
  });
  tail.follow(7, reader as unknown as PartitionReader);
  await told.promise;
  await tail.close();
  expect(news).toEqual([
    undefined,
    { log: "k7", end: 1, sources: ["source"] },
    undefined,
    { log: "k7", end: 4, sources: ["source"] },
  ]);
});

/** A tail whose fetches fail while `failure` is set, and find no block. */
function openTail() {
  const parts = { failure: undefined as Error | undefined, fetched: [] as number[] };
  const fetcher = {
    async fetch(partition: number) {
      parts.fetched.push(partition);
      await new Promise(setImmediate);
      if (parts.failure !== undefined) throw parts.failure;
      return [];
    },
  };
  const reader = { end: () => 0, addFetched: () => [] } as unknown as PartitionReader;
  const { logger, lines } = listeningLogger();
  let news = 0;
  const tail = new PartitionTail({
    fetcher: fetcher as unknown as Fetcher,
    nameOf: (partition) => `k${partition}`,
    sourceOf: sourceOfRecord,
    onNews: () => void news++,
    logger,
  });
  return { tail, reader, parts, lines, news: () => news };
}

const turns = async (count = 6) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
};

test("a partition is fetched until its last follower leaves, who may leave twice", async () => {
  const { tail, reader, parts, news } = openTail();
  const [one, two] = [tail.follow(1, reader), tail.follow(1, reader)];
  expect(tail.follows(1)).toBe(true);
  await turns();
  // Followers hear once of blocks that came before, and of none that did not come.
  expect(news()).toBe(1);
  one();
  one();
  expect(tail.follows(1)).toBe(true);
  two();
  expect([tail.follows(1), tail.follows(2)]).toEqual([false, false]);
  await turns();
  const count = parts.fetched.length;
  await turns();
  expect(parts.fetched).toHaveLength(count);
  const again = tail.follow(1, reader);
  await turns();
  expect(parts.fetched.length).toBeGreaterThan(count);
  again();
  await tail.close();
});

test("a partition that cannot be read is trouble until it can, logged once, and forgotten when left", async () => {
  const { tail, reader, parts, lines } = openTail();
  const pauses = spyOn(Bun, "sleep").mockImplementation(() => new Promise(setImmediate));
  try {
    parts.failure = new Error("No leader");
    const leave = tail.follow(3, reader);
    tail.follow(4, reader);
    const trouble = "The event log cannot be read in partitions 3, 4: No leader";
    await until(() => tail.trouble() === trouble, "both partitions to fail");
    expect(pauses.mock.calls.some(([ms]) => ms === 250)).toBe(true);
    expect([tail.isFailing(3), tail.isFailing(5)]).toEqual([true, false]);
    leave();
    expect(tail.trouble()).toBe("The event log cannot be read in partitions 4: No leader");
    parts.failure = undefined;
    await until(() => tail.trouble() === undefined, "the partition to be read");
    expect(lines.map(({ msg, partition }) => [msg, partition])).toEqual([
      ["partition cannot be read", 3],
      ["partition cannot be read", 4],
      ["partition can be read again", 4],
    ]);
    await tail.close();
  } finally {
    pauses.mockRestore();
  }
});

test("blocks that break an invariant are not fetched again, and stay trouble", async () => {
  const { tail, reader, parts, lines } = openTail();
  parts.failure = new InvariantError("Block offsets ascend");
  tail.follow(0, reader);
  await until(() => tail.isFailing(0), "the invariant to break");
  await turns();
  expect(parts.fetched).toEqual([0]);
  expect(tail.trouble()).toEndWith("partitions 0: Block offsets ascend");
  expect(lines.map(({ msg }) => msg)).toEqual(["partition cannot be read"]);
  await tail.close();
});

test("a partition that is followed keeps nothing of fetches that have ended", async () => {
  const { tail, reader, parts } = openTail();
  const stop = tail.follow(1, reader);
  const promisesAfter = async (fetches: number) => {
    parts.fetched.length = 0;
    while (parts.fetched.length < fetches) await turns();
    Bun.gc(true);
    return heapStats().objectTypeCounts.Promise ?? 0;
  };
  await promisesAfter(1_000);
  const before = await promisesAfter(1_000);
  expect((await promisesAfter(10_000)) - before).toBeLessThan(1_000);
  stop();
  await tail.close();
});
