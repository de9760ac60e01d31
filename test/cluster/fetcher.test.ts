import { expect, spyOn, test } from "bun:test";
import type { Consumer } from "@platformatic/kafka";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";

test("a fetch does not wait until brokers tell who leads now", async () => {
  let asked = 0;
  const partitions = [{ partitionIndex: 0, errorCode: 0, highWatermark: 0n, logStartOffset: 0n }];
  const consumer = {
    topics: { track() {} },
    metadata({ forceUpdate = false }) {
      if (!forceUpdate) {
        return Promise.resolve({
          topics: new Map([["t", { id: "1", partitions: [{ leader: 1 }] }]]),
        });
      }
      asked += 1;
      return new Promise(() => {});
    },
    fetch: async () => ({ errorCode: 0, responses: [{ topicId: "1", partitions }] }),
  };
  const fetcher = new Fetcher({
    ...{ consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1 },
  });
  const begun = performance.now();
  const clock = spyOn(performance, "now");
  try {
    for (let second = 0; second < 30; second++) {
      clock.mockReturnValue(begun + second * 1_000);
      expect((await fetcher.fetch(0, 0n)).values).toEqual([]);
    }
  } finally {
    clock.mockRestore();
  }
  expect(asked).toBeGreaterThan(5);
});
