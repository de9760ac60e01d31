import { expect, test } from "bun:test";
import { pino } from "pino";
import type { PartitionReader } from "../../src/cluster/events/partition-reader.ts";
import { PartitionTail } from "../../src/cluster/events/partition-tail.ts";
import type { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { sourceOfRecord } from "../../src/event/record.ts";
import { type Block, HEADER_BYTES, RECORD_HEADER_BYTES } from "../../src/log/block.ts";
import type { DurableRange } from "../../src/log/event-log.ts";
import { sdkRecord } from "../pipeline/repetitions-rig.ts";

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
