import { expect, spyOn, test } from "bun:test";
import type { Consumer } from "@platformatic/kafka";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { describeReadFailure } from "../../src/cluster/topics/read-health.ts";

test("a fetch goes to the leader that is known at that time, without asking for it", async () => {
  let leader = 1;
  const asked: number[] = [];
  const partitions = [{ partitionIndex: 0, errorCode: 0, highWatermark: 0n, logStartOffset: 0n }];
  const consumer = {
    topics: { track() {} },
    metadata({ forceUpdate = false }) {
      if (forceUpdate) throw new Error("The fetch asks for leaders");
      const topics = new Map([["t", { id: "1", partitions: [{ leader }] }]]);
      return Promise.resolve({ topics, brokers: new Map() });
    },
    async fetch({ node }: { node: number }) {
      asked.push(node);
      return { errorCode: 0, responses: [{ topicId: "1", partitions }] };
    },
  };
  const options = { consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1 };
  const fetcher = new Fetcher(options);
  for (leader of [1, 1, 2, 3]) expect((await fetcher.fetch(0, 0n)).values).toEqual([]);
  expect(asked).toEqual([1, 1, 2, 3]);
});

test("a fetch is asked again at once only when a broker refused its session", async () => {
  let asked = 0;
  const fetchWith = (failure: object) => {
    asked = 0;
    const consumer = {
      topics: { track() {} },
      metadata: async () => ({
        topics: new Map([["t", { id: "1", partitions: [{ leader: 1 }] }]]),
        brokers: new Map([[1, { host: "b", port: 9092 }]]),
      }),
      async fetch() {
        asked++;
        throw Object.assign(new Error("Refused"), failure);
      },
      clearMetadata() {},
    };
    const options = { consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1 };
    return new Fetcher(options).fetch(0, 0n);
  };
  await expect(fetchWith({})).rejects.toMatchObject({ broker: "b:9092", message: "Refused" });
  expect(asked).toBe(1);
  await expect(fetchWith({ response: { errorCode: 71, responses: [] } })).rejects.toThrow(
    "Refused",
  );
  expect(asked).toBe(2);
});

test("fetches that wait for a leader that does not respond delay none of another leader", async () => {
  const silent = Promise.withResolvers<never>();
  const consumer = {
    topics: { track() {} },
    metadata: async () => ({
      topics: new Map([["t", { id: "1", partitions: [{ leader: 1 }, { leader: 2 }] }]]),
      brokers: new Map(),
    }),
    async fetch({ node }: { node: number }) {
      if (node === 1) await silent.promise;
      const bounds = { highWatermark: 0n, logStartOffset: 0n };
      const partitions = [{ partitionIndex: 1, errorCode: 0, ...bounds }];
      return { errorCode: 0, responses: [{ topicId: "1", partitions }] };
    },
    clearMetadata() {},
  };
  const options = { consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1 };
  const fetcher = new Fetcher(options);
  const failing: Promise<unknown>[] = [];
  for (let count = 0; count < 2; count++) {
    failing.push(fetcher.fetch(0, 0n).catch((error) => error.message));
    // The second one finds the leader busy.
    await Bun.sleep(5);
  }
  expect((await fetcher.fetch(1, 0n)).values).toEqual([]);
  silent.reject(new Error("Silent"));
  expect(await Promise.all(failing)).toEqual(["Silent", "Silent"]);
});

/** A consumer of a topic of which partition 0 has a leader and partition 1 has none. */
const halfLed = () => ({
  topics: { track() {} },
  metadata: async () => ({
    topics: new Map([["t", { id: "1", partitions: [{ leader: 1 }, { leader: -1 }] }]]),
    brokers: new Map(),
  }),
  async listOffsets({
    timestamp,
    partitions,
  }: {
    timestamp: bigint;
    partitions?: { t: number[] };
  }) {
    if (partitions?.t.join() !== "0") throw new Error("No leader");
    return new Map([["t", [timestamp === -1n ? 7n : 3n]]]);
  },
  async fetch() {
    const partitions = [{ partitionIndex: 0, errorCode: 1 }];
    return { errorCode: 0, responses: [{ topicId: "1", partitions }] };
  },
  clearMetadata() {},
});

test("a leader that does not answer hides no ends of the partitions of others", async () => {
  const fetcher = new Fetcher({
    consumer: halfLed() as unknown as Consumer,
    topic: "t",
    waitMs: 1,
  });
  const startedAt = performance.now();
  const { topicId, offsets, failures } = await fetcher.brokerOffsets("end", 300);
  expect([topicId, [...offsets], [...failures.keys()]]).toEqual(["1", [[0, 7n]], [1]]);
  expect(performance.now() - startedAt).toBeLessThan(4_000);
});

test("offsets that are not named tell whether their partition has a leader and which broker it is", async () => {
  const failure = Object.assign(new Error("Listing offsets failed."), { code: "PLT_KFK_MULTIPLE" });
  let isLate = false;
  const consumer = {
    topics: { track() {} },
    metadata: async () => ({
      topics: new Map([["t", { id: "1", partitions: [{ leader: -1 }, { leader: 2 }] }]]),
      brokers: new Map([[2, { host: "b", port: 9092 }]]),
    }),
    listOffsets: () => (isLate ? new Promise(() => {}) : Promise.reject(failure)),
    clearMetadata() {},
  };
  const fetcher = new Fetcher({ consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1 });
  const described = async (msMax?: number) =>
    [...(await fetcher.brokerOffsets("end", msMax)).failures].map(([partition, error]) => {
      return `${partition}: ${describeReadFailure(error)}`;
    });
  const none = "a partition of t has no leader";
  const leader = "broker b:9092, which leads,";
  // Each reading of the clock is later than the time for which a request is retried.
  let now = 0;
  const clock = spyOn(performance, "now").mockImplementation(() => (now += 6_000));
  try {
    expect(await described()).toEqual([`0: ${none}`, `1: ${leader} does not answer this node`]);
    expect(await fetcher.brokerOffset("end", 0).catch(describeReadFailure)).toBe(none as never);
  } finally {
    clock.mockRestore();
  }
  isLate = true;
  expect(await described(20)).toEqual([`0: ${none}`, `1: ${leader} has not answered within 20 ms`]);
});

test("offsets that all leaders have named leave no timer", async () => {
  const consumer = {
    topics: { track() {} },
    async metadata() {
      const topics = new Map([["t", { id: "1", partitions: [{ leader: 1 }] }]]);
      return { topics, brokers: new Map() };
    },
    listOffsets: async () => new Map([["t", [7n]]]),
  };
  const fetcher = new Fetcher({ consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1 });
  const set = spyOn(globalThis, "setTimeout");
  const cleared = spyOn(globalThis, "clearTimeout");
  try {
    await fetcher.brokerOffsets("end", 60_000);
    expect(set).toHaveBeenCalledTimes(1);
    expect(cleared).toHaveBeenCalledTimes(1);
  } finally {
    set.mockRestore();
    cleared.mockRestore();
  }
});

test("offsets are in the order of the partitions, whichever leader answers first", async () => {
  const first = Promise.withResolvers<void>();
  const consumer = {
    topics: { track() {} },
    async metadata() {
      const topics = new Map([["t", { id: "1", partitions: [{ leader: 1 }, { leader: 2 }] }]]);
      return { topics, brokers: new Map([1, 2].map((id) => [id, { host: "b", port: id }])) };
    },
    async listOffsets({ partitions }: { partitions: Record<string, number[]> }) {
      const [partition] = partitions.t!;
      if (partition === 0) await first.promise;
      else first.resolve();
      return new Map([["t", partition === 0 ? [7n] : [-1n, 8n]]]);
    },
    clearMetadata() {},
  };
  const fetcher = new Fetcher({ consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1 });
  expect(await fetcher.offsets("end")).toEqual([7n, 8n]);
});

test("a partition without a leader hides no bounds of the others", async () => {
  const consumer = halfLed() as unknown as Consumer;
  const fetcher = new Fetcher({ consumer, topic: "t", waitMs: 1 });
  expect(await fetcher.endOffsetOfOneTopic(0)).toEqual({ topicId: "1", offset: 7n });
  expect(await fetcher.fetch(0, 9n)).toEqual({
    values: [],
    first: 3n,
    end: 7n,
    isOutOfRange: true,
  });
});

test("a partition whose answer needs further requests delays no other one of the same leader", async () => {
  const partitions = [
    { partitionIndex: 0, errorCode: 6 },
    { partitionIndex: 1, errorCode: 0, highWatermark: 0n, logStartOffset: 0n },
  ];
  const refreshed = Promise.withResolvers<void>();
  const consumer = {
    topics: { track() {} },
    async metadata({ forceUpdate = false }) {
      if (forceUpdate) await refreshed.promise;
      const topics = new Map([["t", { id: "1", partitions: [{ leader: 1 }, { leader: 1 }] }]]);
      return { topics, brokers: new Map([[1, { host: "b", port: 9092 }]]) };
    },
    fetch: async () => ({ errorCode: 0, responses: [{ topicId: "1", partitions }] }),
    clearMetadata() {},
  };
  const options = { consumer: consumer as unknown as Consumer, topic: "t", waitMs: 1 };
  const fetcher = new Fetcher(options);
  const failed = fetcher.fetch(0, 0n).catch((error) => error.message);
  for (let time = 0; time < 2; time++) {
    expect((await fetcher.fetch(1, 0n)).values).toEqual([]);
  }
  refreshed.resolve();
  expect(await failed).toBe("answers with error 6");
});
