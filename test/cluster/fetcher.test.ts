import { describe, expect, spyOn, test } from "bun:test";
import type { Consumer } from "@platformatic/kafka";
import { Fetcher, type FetcherOptions } from "../../src/cluster/topics/fetcher.ts";
import { OffsetBases } from "../../src/cluster/topics/offset-base.ts";
import { describeReadFailure } from "../../src/cluster/topics/read-health.ts";
import { TopicIdentity, TopicRecreated } from "../../src/cluster/topics/topic-identity.ts";

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
    // The brokers do not name partition 2 at all.
    for (const partition of [0, 2]) {
      const read = fetcher.brokerOffset("end", partition);
      expect(await read.catch(describeReadFailure)).toBe(none as never);
    }
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

interface Asked {
  node: number;
  maxWaitTime: number;
  minBytes: number;
  maxBytes: number;
  topics: { topicId: string; partitions: { partition: number; fetchOffset: bigint }[] }[];
}

/** A topic with partitions 0 and 1 of one leader, and the requests that its fetcher sends. */
class FakeTopic {
  id = "1";
  readonly asked: Asked[] = [];
  /** Kinds of the other requests. */
  readonly others: string[] = [];
  /** Partitions in the next answers; with the values of the offsets 4 to 6, unless set. */
  answers: object[][] = [];
  first = 3n;
  end = 7n;
  readonly tracked: string[] = [];
  readonly topics = { track: (name: string) => void this.tracked.push(name) };
  leaders = [5, 5];

  async metadata({ forceUpdate = false }) {
    if (forceUpdate) this.others.push("metadata");
    const partitions = this.leaders.map((leader) => ({ leader }));
    return {
      topics: new Map([["t", { id: this.id, partitions }]]),
      brokers: new Map([[5, { host: "b", port: 9092 }]]),
    };
  }

  clearMetadata() {
    this.others.push("clear");
  }

  async listOffsets({ timestamp, partitions }: { timestamp: bigint; partitions: { t: number[] } }) {
    this.others.push("offsets");
    const offset = timestamp === -1n ? this.end : this.first;
    const listed: bigint[] = [];
    for (const partition of partitions.t) listed[partition] = offset;
    return new Map([["t", listed]]);
  }

  async fetch(asked: Asked) {
    this.asked.push(asked);
    const values = ["a", null, "c"].map((it, offsetDelta) => {
      return { offsetDelta, value: it === null ? null : Buffer.from(it) };
    });
    const partitions = this.answers.shift() ?? [
      {
        ...{ partitionIndex: 0, errorCode: 0, highWatermark: this.end },
        ...{ logStartOffset: this.first, records: [{ firstOffset: 4n, records: values }] },
      },
    ];
    return { errorCode: 0, responses: [{ topicId: this.id, partitions }] };
  }

  fetcher(options: Partial<FetcherOptions> = {}): Fetcher {
    const consumer = this as unknown as Consumer;
    return new Fetcher({ consumer, topic: "t", waitMs: 9, ...options });
  }
}

/** Bases of partition 0, computed for the topic with this id. */
function basesOf(topic: string): OffsetBases {
  const bases = new OffsetBases();
  bases.set(0, { topic, base: 100 });
  return bases;
}

describe("a fetch", () => {
  test("asks for the values from its offset, and has none of those before it", async () => {
    const topic = new FakeTopic();
    const { values, ...bounds } = await topic.fetcher().fetch(0, 5n);
    expect(values.map(({ offset, value }) => [offset, value.toString()])).toEqual([
      [5n, ""],
      [6n, "c"],
    ]);
    expect(bounds).toEqual({ first: 3n, end: 7n, isOutOfRange: false });
    expect(topic.asked).toEqual([
      {
        ...{ node: 5, maxWaitTime: 9, minBytes: 1, maxBytes: 256 << 10 },
        topics: [
          {
            topicId: "1",
            partitions: [
              {
                ...{ partition: 0, fetchOffset: 5n, partitionMaxBytes: 256 << 10 },
                ...{ currentLeaderEpoch: -1, lastFetchedEpoch: -1 },
              } as never,
            ],
          },
        ],
      },
    ]);
  });

  test("is one request with the others of its turn, but not with one of the same partition", async () => {
    const topic = new FakeTopic();
    const fetcher = topic.fetcher({ windowBytes: 1_000 });
    const bounds = { errorCode: 0, highWatermark: 7n, logStartOffset: 3n };
    const both = [0, 1].map((partitionIndex) => ({ partitionIndex, ...bounds }));
    topic.answers.push(both);
    await Promise.all([fetcher.fetch(0, 4n), fetcher.fetch(1, 5n), fetcher.fetch(0, 6n)]);
    const asked = topic.asked.map(({ maxBytes, topics }) => {
      return [maxBytes, topics[0]!.partitions.map((it) => [it.partition, it.fetchOffset])];
    });
    expect(asked).toEqual([
      [
        2_000,
        [
          [0, 4n],
          [1, 5n],
        ],
      ],
      [1_000, [[0, 6n]]],
    ] as never);
  });

  test("has the bounds of before where the broker has nothing new to say", async () => {
    const topic = new FakeTopic();
    const fetcher = topic.fetcher();
    await fetcher.fetch(0, 4n);
    topic.answers.push([]);
    const unchanged = { values: [], first: 3n, end: 7n, isOutOfRange: false };
    expect(await fetcher.fetch(0, 7n)).toEqual(unchanged);
    expect(topic.others).toEqual([]);
    // A partition of which it has said nothing yet is asked for its bounds.
    topic.answers.push([]);
    expect(await fetcher.fetch(1, 7n)).toEqual(unchanged);
    expect(topic.others).toEqual(["offsets", "offsets"]);
  });

  test.each([
    [2n, true],
    [3n, false],
    [7n, false],
    [8n, true],
  ])("from offset %d of the values 3 to 6 is out of range: %p", async (offset, isOutOfRange) => {
    const topic = new FakeTopic();
    topic.answers.push([{ partitionIndex: 0, errorCode: 1 }]);
    const bounds = { values: [], first: 3n, end: 7n };
    expect(await topic.fetcher().fetch(0, offset)).toEqual({ ...bounds, isOutOfRange });
  });

  test("that is refused asks for the leaders anew, before the next one", async () => {
    const topic = new FakeTopic();
    topic.answers.push([{ partitionIndex: 0, errorCode: 6 }]);
    await expect(topic.fetcher().fetch(0, 4n)).rejects.toMatchObject({
      ...{ broker: "b:9092", message: "answers with error 6" },
    });
    expect(topic.others).toEqual(["clear", "metadata"]);
    topic.others.length = 0;
    const failing = topic.fetcher();
    topic.fetch = () => Promise.reject(new Error("closed"));
    await expect(failing.fetch(0, 4n)).rejects.toMatchObject({ broker: "b:9092" });
    expect(topic.others).toEqual(["clear", "metadata"]);
  });

  test("has the values of a partition although another one failed in the same request", async () => {
    const topic = new FakeTopic();
    const { fetch } = topic;
    topic.fetch = async (asked) => {
      const response = await fetch.call(topic, asked);
      response.responses[0]!.partitions.push({ partitionIndex: 1, errorCode: 6 } as never);
      throw Object.assign(new Error("Fetch failed"), { response });
    };
    const fetcher = topic.fetcher();
    const failing = fetcher.fetch(1, 4n).catch((error) => error.message);
    expect((await fetcher.fetch(0, 4n)).values).toHaveLength(3);
    expect(await failing).toBe("answers with error 6");
  });

  test("counts offsets from the base of its partition", async () => {
    const topic = new FakeTopic();
    const fetcher = topic.fetcher({ offsetBases: basesOf("1") });
    const { values, first, end } = await fetcher.fetch(0, 106n);
    expect([values.map(({ offset }) => offset), first, end]).toEqual([[106n], 103n, 107n]);
    await fetcher.fetch(0, 100n);
    await fetcher.fetch(0, 7n);
    expect(topic.asked.map(({ topics }) => topics[0]!.partitions[0]!.fetchOffset)).toEqual([
      ...[6n, 0n, 0n],
    ]);
  });
});

describe("the offsets of a topic", () => {
  test("are counted from the bases of its partitions, or as the brokers count them", async () => {
    const fetcher = new FakeTopic().fetcher({ offsetBases: basesOf("1") });
    expect(await fetcher.offsets("end")).toEqual([107n, 7n]);
    expect(await fetcher.offsets("first")).toEqual([103n, 3n]);
    expect(await fetcher.brokerOffset("first", 0)).toEqual({ topicId: "1", offset: 3n });
    const { topicId, offsets } = await fetcher.brokerOffsets("end");
    expect([topicId, [...offsets]]).toEqual([
      "1",
      [
        [0, 7n],
        [1, 7n],
      ],
    ] as never);
  });

  test("and its values are those of one topic, not of another of the same name", async () => {
    const placed = new FakeTopic().fetcher({ offsetBases: basesOf("0") });
    await expect(placed.fetch(0, 104n)).rejects.toThrow(TopicRecreated);
    await expect(placed.offsets("end")).rejects.toThrow(TopicRecreated);
    const topic = new FakeTopic();
    const known = topic.fetcher({ identity: new TopicIdentity("t") });
    await known.fetch(0, 4n);
    topic.id = "2";
    await expect(known.fetch(0, 4n)).rejects.toThrow(TopicRecreated);
    await expect(known.offsets("end")).rejects.toThrow(TopicRecreated);
  });

  test("belong to the id of the topic that is returned with the end, also when it was recreated meanwhile", async () => {
    const topic = new FakeTopic();
    const { metadata } = topic;
    let looks = 0;
    topic.metadata = (options) => {
      if (options.forceUpdate && ++looks === 2) topic.id = "2";
      return metadata.call(topic, options);
    };
    expect(await topic.fetcher().endOffsetOfOneTopic(0)).toEqual({ topicId: "2", offset: 7n });
    expect(topic.others.filter((it) => it === "offsets")).toHaveLength(2);
    expect(looks).toBe(4);
  });

  test("and its values come from the leader of each partition, if it has one", async () => {
    const topic = new FakeTopic();
    topic.leaders = [-1, 0];
    const fetcher = topic.fetcher();
    expect(topic.tracked).toEqual(["t"]);
    const none = "a partition of t has no leader";
    await expect(fetcher.fetch(0, 4n)).rejects.toThrow(none);
    topic.answers.push([{ partitionIndex: 1, errorCode: 6 }]);
    await expect(fetcher.fetch(1, 4n)).rejects.toMatchObject({ broker: "0" });
    expect(topic.asked.map(({ node }) => node)).toEqual([0]);
  });

  test("are not read of a topic that the brokers do not know", async () => {
    const topic = new FakeTopic();
    topic.metadata = async () => ({ topics: new Map(), brokers: new Map() });
    await expect(topic.fetcher().offsets("end")).rejects.toThrow("The topic t is not there");
  });
});
