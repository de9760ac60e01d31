import { expect, spyOn, test } from "bun:test";
import * as kafka from "@platformatic/kafka";
import fc from "fast-check";
import { ClusterView } from "../../src/kafka/cluster-view.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import type { ProducerId } from "../../src/kafka/partition-queue.ts";
import type { PartitionMessages } from "../../src/kafka/produce.ts";
import { createProduceClient } from "../../src/kafka/produce-client.ts";
import { until } from "../log/support.ts";

const PARTITIONS = 4;
const LEADERS = 2;

/** Fate of a request. */
const faults = ["none", "unsent", "unanswered", "moved", "slow", "too large"] as const;
type Fault = (typeof faults)[number] | "forgotten";

/** Brokers as their protocol has it: a batch that comes again is there once. */
function createBrokers(faults: Fault[]) {
  const logs = Array.from({ length: PARTITIONS }, () => [] as string[]);
  let known = new Map<string, { next: number; answers: Map<number, bigint> }>();
  let shift = 0;
  let lastId = 0n;

  function take(
    { partition, sequence, messages }: PartitionMessages,
    { producerId }: ProducerId,
  ): [code: number, offset: bigint] {
    const values = messages.map(({ value }) => String(value));
    const of = `${partition}:${producerId}`;
    const state = known.get(of) ?? { next: 0, answers: new Map() };
    const before = state.answers.get(sequence);
    if (before !== undefined) return [0, before];
    if (sequence !== state.next) return [45, -1n];
    const offset = BigInt(logs[partition]!.length);
    logs[partition]!.push(...values);
    known.set(of, { next: sequence + values.length, answers: state.answers.set(sequence, offset) });
    return [0, offset];
  }

  const lost = () => Promise.reject(new kafka.NetworkError("Connection closed"));
  const client = {
    ...createProduceClient(kafka, {} as kafka.Producer, {
      view: new ClusterView(),
      waitMs: 0,
      compression: "none",
    }),
    leaders: () => logs.map((_, partition) => (partition + shift) % LEADERS),
    refreshLeaders: async () => {},
    initProducerId: async () => ({ producerId: ++lastId, producerEpoch: 0 }),
    async produce(leader: number, id: ProducerId, batches: readonly PartitionMessages[]) {
      const fault = faults.pop() ?? "none";
      await Bun.sleep(1);
      if (fault === "unsent") return await lost();
      if (fault === "moved") shift += 1;
      if (fault === "forgotten") known = new Map();
      const answers = batches.map((batch) => {
        const isLed = (batch.partition + shift) % LEADERS === leader;
        const [code, offset] =
          fault === "too large" ? ([10, -1n] as const) : isLed ? take(batch, id) : [6, -1n];
        return { topic: "t", index: batch.partition, errorCode: code, baseOffset: offset };
      });
      if (fault === "slow") await Bun.sleep(30);
      return fault === "unanswered" ? await lost() : answers;
    },
  };
  return { client, logs };
}

test("records are written once and in order, whatever happens to requests", async () => {
  const found = fc.array(fc.constantFrom(...faults), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(found, async (faults) => {
      const { client, logs } = createBrokers(faults);
      const producer = new IdempotentProducer({ producer: client, topic: "t" });
      const kept = logs.map(() => [] as string[]);
      const users = Array.from({ length: PARTITIONS * 2 }, async (_, user) => {
        const partition = user % PARTITIONS;
        for (let n = 0; n < 6; n++) {
          const value = `user ${user}, ${n}`;
          const offset = await producer.send(partition, () => Buffer.from(value)).catch(() => -1n);
          if (offset < 0n) continue;
          kept[partition]!.push(value);
          expect(logs[partition]![Number(offset)]).toBe(value);
        }
      });
      await Promise.all(users);
      for (const [partition, log] of logs.entries()) {
        expect(log).toEqual([...new Set(log)]);
        expect(log.filter((it) => kept[partition]!.includes(it))).toEqual(kept[partition]!);
      }
    }),
    { numRuns: 15 },
  );
}, 300_000);

test("a leader that forgot the producer accepts records under a new producer id", async () => {
  const { client, logs } = createBrokers(["forgotten", "none"]);
  const producer = new IdempotentProducer({ producer: client, topic: "t" });
  for (const text of ["one", "two", "three"]) await producer.send(1, () => Buffer.from(text));
  expect(logs[1]).toEqual(["one", "two", "three"]);
});

test("a batch in flight at one leader is not sent to a new leader meanwhile", async () => {
  const { client, logs } = createBrokers(["moved", "slow"]);
  const producer = new IdempotentProducer({ producer: client, topic: "t" });
  const send = (partition: number) => producer.send(partition, () => Buffer.from("x"));
  await Promise.all([send(0), send(1)]);
  await Promise.all([send(0), send(1)]);
  expect(logs.slice(0, 2)).toEqual([
    ["x", "x"],
    ["x", "x"],
  ]);
});

test("a value that a leader refuses fails at once, and the following values are accepted", async () => {
  const { client, logs } = createBrokers(["too large", "none"]);
  const producer = new IdempotentProducer({ producer: client, topic: "t" });
  await producer.send(1, () => Buffer.from("before"));
  await expect(producer.send(1, () => Buffer.from("large"))).rejects.toThrow("larger");
  expect(await producer.send(1, () => Buffer.from("small"))).toBe(1n);
  expect(logs[1]).toEqual(["before", "small"]);
});

test("a failed batch is blamed on the broker that it was sent to, also when another one leads", async () => {
  const { client } = createBrokers([]);
  let leader = 0;
  const sentTo: number[] = [];
  const producer = new IdempotentProducer({
    topic: "t",
    producer: {
      ...client,
      leaders: () => [leader],
      addressOf: (id: number) => `broker-${id}:9092`,
      async produce(to: number, id: ProducerId, batches: readonly PartitionMessages[]) {
        sentTo.push(to);
        // The first leader does not answer before another broker leads.
        if (sentTo.length > 1) return await client.produce(0, id, batches);
        leader = 1;
        throw new kafka.NetworkError("Connection closed");
      },
    },
  });
  const sent = producer.send(0, () => Buffer.from("x"));
  await until(() => producer.refusal(0).error !== undefined);
  expect(producer.refusal(0)).toMatchObject({ leader: "broker-1:9092", broker: "broker-0:9092" });
  await sent;
  expect(sentTo).toEqual([0, 1]);
  expect(producer.refusal(0).error).toBeUndefined();
});

test("no broker is blamed for a batch when the brokers give no producer id", async () => {
  const { client } = createBrokers([]);
  const refused = new kafka.ProtocolError("COORDINATOR_LOAD_IN_PROGRESS");
  const producer = new IdempotentProducer({
    topic: "t",
    producer: {
      ...client,
      addressOf: (id: number) => `broker-${id}:9092`,
      initProducerId: () => Promise.reject(refused),
    },
  });
  await expect(producer.send(1, () => Buffer.from("x"))).rejects.toBe(refused);
  expect(producer.refusal(1)).toEqual({
    ...{ leader: "broker-1:9092", broker: undefined, error: refused },
  });
});

test("a batch that is sent again is marked as repeated", async () => {
  const { client } = createBrokers(["none", "unanswered", "none"]);
  const marks: (boolean | undefined)[] = [];
  const producer = new IdempotentProducer({
    topic: "t",
    producer: {
      ...client,
      produce(leader: number, id: ProducerId, batches: readonly PartitionMessages[]) {
        marks.push(...batches.map(({ isRepeated }) => isRepeated));
        return client.produce(leader, id, batches);
      },
    },
  });
  await producer.send(1, () => Buffer.from("one"));
  await producer.send(1, () => Buffer.from("two"));
  expect(marks).toEqual([false, false, true]);
});

test("a value for a partition that the topic has not is refused, and the number of partitions told", async () => {
  const { client } = createBrokers([]);
  const counts: number[] = [];
  let leaders = [0];
  const producer = new IdempotentProducer({
    ...{ topic: "t", producer: { ...client, leaders: () => leaders } },
    onPartitions: (count) => counts.push(count),
  });
  const send = (partition: number) => producer.send(partition, () => Buffer.from("x"));
  await expect(send(1)).rejects.toThrow("The partition does not exist");
  expect(producer.refusal(1)).toMatchObject({ leader: undefined, broker: undefined });
  expect(await send(0)).toBe(0n);
  leaders = [0, 1];
  expect(await send(1)).toBe(0n);
  expect(counts).toEqual([1, 2]);
  expect(producer.refusal(7)).toEqual({ leader: undefined, broker: undefined, error: undefined });
});

test("values join a batch until it exceeds 512 KiB, and each is taken once", async () => {
  const { client } = createBrokers([]);
  const sizes: number[][] = [];
  const producer = new IdempotentProducer({
    topic: "t",
    producer: {
      ...client,
      produce(leader: number, id: ProducerId, batches: readonly PartitionMessages[]) {
        for (const it of batches) sizes.push(it.messages.map(({ value }) => value.length));
        return client.produce(leader, id, batches);
      },
    },
  });
  let taken = 0;
  const half = 256 << 10;
  const sent = [half, half, 1, 1, 600_000, 2].map((length) =>
    producer.send(0, () => {
      taken++;
      return Buffer.alloc(length, `${taken}`);
    }),
  );
  expect(await Promise.all(sent)).toEqual([0n, 1n, 2n, 3n, 4n, 5n]);
  expect(sizes).toEqual([[half, half, 1], [1, 600_000], [2]]);
  expect(taken).toBe(6);
});

test("a batch is given up after 20 attempts, and the next one has another producer id", async () => {
  const { client, logs } = createBrokers([]);
  const ids: bigint[] = [];
  let isAway = true;
  const producer = new IdempotentProducer({
    topic: "t",
    producer: {
      ...client,
      async produce(leader: number, id: ProducerId, batches: readonly PartitionMessages[]) {
        ids.push(id.producerId);
        if (isAway) throw new kafka.NetworkError("Connection closed");
        return await client.produce(leader, id, batches);
      },
    },
  });
  const sleep = spyOn(Bun, "sleep").mockImplementation(() => new Promise(setImmediate));
  try {
    const given = producer.send(0, () => Buffer.from("given up"));
    await expect(given).rejects.toThrow("Connection closed");
    expect(ids).toEqual(Array(20).fill(1n));
    isAway = false;
    expect(await producer.send(0, () => Buffer.from("next"))).toBe(0n);
  } finally {
    sleep.mockRestore();
  }
  expect(ids.at(-1)).toBe(2n);
  expect(logs[0]).toEqual(["next"]);
});

test("a producer asks for the leaders before it refuses a partition that it does not know", async () => {
  const { client } = createBrokers([]);
  let leaders: number[] | undefined;
  const producer = new IdempotentProducer({
    topic: "t",
    producer: {
      ...client,
      leaders: () => leaders,
      async refreshLeaders() {
        leaders = [0, 1];
      },
    },
  });
  expect(await producer.send(1, () => Buffer.from("x"))).toBe(0n);
});

test("a batch is sent again once the leaders are known, and after a pause from its second failure on", async () => {
  const { client } = createBrokers([]);
  let requests = 0;
  const pause = Promise.withResolvers<void>();
  const producer = new IdempotentProducer({
    topic: "t",
    producer: {
      ...client,
      async produce(leader: number, id: ProducerId, batches: readonly PartitionMessages[]) {
        if (++requests < 3) throw new kafka.NetworkError("Connection closed");
        return await client.produce(leader, id, batches);
      },
    },
  });
  const { sleep } = Bun;
  const paused = spyOn(Bun, "sleep").mockImplementation((ms) =>
    Number(ms) > 100 ? pause.promise : sleep(ms),
  );
  try {
    const sent = producer.send(0, () => Buffer.from("x"));
    await until(() => requests === 2);
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    expect(requests).toBe(2);
    pause.resolve();
    expect(await sent).toBe(0n);
  } finally {
    paused.mockRestore();
  }
});

test("a broker whose address is not known is named by its id", async () => {
  const { client } = createBrokers(["too large"]);
  const producer = new IdempotentProducer({ producer: client, topic: "t" });
  const refused = await producer.send(1, () => Buffer.from("x")).catch((error) => error);
  expect(producer.refusal(1)).toEqual({ leader: undefined, broker: "1", error: refused });
});

test("a producer pauses after each response of a leader, unless it is to have no pause", async () => {
  for (const [pauseMs, pauses] of [
    [undefined, [1, 1]],
    [7, [7, 7]],
    [0, []],
  ] as const) {
    const { client } = createBrokers([]);
    let offset = 0n;
    const produce = async (_: number, __: ProducerId, batches: readonly PartitionMessages[]) =>
      batches.map(({ partition: index }) => {
        return { topic: "t", index, errorCode: 0, baseOffset: offset++ };
      });
    const producer = new IdempotentProducer({
      ...{ topic: "t", producer: { ...client, produce } },
      ...(pauseMs !== undefined && { pauseMs }),
    });
    const sleep = spyOn(Bun, "sleep").mockImplementation(() => new Promise(setImmediate));
    try {
      for (const at of [0n, 1n]) expect(await producer.send(0, () => Buffer.from("x"))).toBe(at);
      expect(sleep.mock.calls.map(([ms]) => Number(ms))).toEqual([...pauses]);
    } finally {
      sleep.mockRestore();
    }
  }
});

test("a partition shows its error until its next batch is written, and other partitions show none", async () => {
  const { client } = createBrokers(["none", "too large"]);
  const producer = new IdempotentProducer({ producer: client, topic: "t" });
  const send = (partition: number) => producer.send(partition, () => Buffer.from("x"));
  await expect(send(1)).rejects.toThrow("larger");
  expect(producer.refusal(1).error).toBeInstanceOf(Error);
  expect(producer.refusal(0)).toEqual({ leader: undefined, broker: undefined, error: undefined });
  expect(await send(1)).toBe(0n);
  expect(producer.refusal(1)).toEqual({ leader: undefined, broker: undefined, error: undefined });
});
