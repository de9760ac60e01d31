import { expect, test } from "bun:test";
import type { Consumer } from "@platformatic/kafka";
import { FetchPace } from "../../src/cluster/topics/fetch-pace.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";

/** Pause after the last of many responses of `batches` record batches each, `everyMs` apart. */
function pauseAt(batches: number, everyMs: number): number {
  const pace = new FetchPace();
  let pause = 0;
  for (let ms = 1_000; ms < 3_000; ms += everyMs) pause = pace.pauseMs(batches, ms);
  return pause;
}

test("a fetch does not wait after rare batches, and waits longer the more batches come", () => {
  expect(pauseAt(1, 200)).toBeLessThan(1);
  expect(pauseAt(1, 6)).toBeWithin(5, 12);
  expect(pauseAt(4, 10)).toBeGreaterThan(pauseAt(2, 10));
  expect(pauseAt(100, 10)).toBe(40);
});

test("a fetcher pauses for one broker and not for the others", async () => {
  const asked = [0, 0];
  const records = [{ firstOffset: 0n, records: [{ offsetDelta: 0, value: Buffer.from("a") }] }];
  const consumer = {
    topics: { track() {} },
    metadata: async () => ({
      brokers: new Map(),
      topics: new Map([["t", { id: "1", partitions: [{ leader: 0 }, { leader: 1 }] }]]),
    }),
    async fetch({
      node,
      topics,
    }: {
      node: number;
      topics: { partitions: { partition: number }[] }[];
    }) {
      asked[node]! += 1;
      const partitions = topics[0]!.partitions.map(({ partition }) => ({
        ...{ partitionIndex: partition, errorCode: 0, highWatermark: 1n, logStartOffset: 0n },
        records,
      }));
      return { errorCode: 0, responses: [{ topicId: "1", partitions }] };
    },
  };
  const pauses: number[] = [];
  const pace = {
    pauseMs(batches: number) {
      expect(batches).toBe(1);
      return pauses.push(batches) === 1 ? 1e8 : 0;
    },
  };
  const fetcher = new Fetcher({
    ...{ consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1, pace },
  });
  await fetcher.fetch(0, 0n);
  void fetcher.fetch(0, 0n);
  for (let n = 1; n <= 5; n++) {
    expect((await fetcher.fetch(1, 0n)).values).toHaveLength(1);
    expect(asked).toEqual([1, n]);
  }
});
