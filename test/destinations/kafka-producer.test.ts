import { afterAll, afterEach, beforeAll, expect, type Mock, spyOn, test } from "bun:test";
import type { OutgoingEvent } from "../../src/destinations/destination.ts";
import type { BrokerConnections } from "../../src/destinations/kafka/broker-connections.ts";
import { EventProducer } from "../../src/destinations/kafka/event-producer.ts";
import type { KafkaFailure } from "../../src/destinations/kafka/failures.ts";
import { KAFKA_TOPICS_MAX } from "../../src/destinations/kafka/limits.ts";
import { partitionOf } from "../../src/destinations/kafka/partition.ts";
import { loadKafkaProtocol } from "../../src/kafka/library.ts";
import { outgoing } from "./outgoing.ts";

const kafka = await loadKafkaProtocol();
const { Reader } = kafka;
const { signal } = new AbortController();
const [OK, UNKNOWN_TOPIC, NOT_LEADER, NO_GRANT, DUPLICATE, UNKNOWN_PRODUCER] = [
  0, 3, 6, 29, 46, 59,
];

/** Pauses of the producer, which take no time. */
const pauses: number[] = [];
let sleeping: Mock<typeof Bun.sleep>;
beforeAll(() => {
  sleeping = spyOn(Bun, "sleep").mockImplementation(async (ms) => void pauses.push(Number(ms)));
});
afterEach(() => void pauses.splice(0));
afterAll(() => sleeping.mockRestore());

/** A batch as a broker gets it. */
interface Batch {
  /** Id of the broker. */
  to: number;
  topic: string;
  index: number;
  producerId: number;
  sequence: number;
  values: unknown[];
  isCompressed: boolean;
}
/** A broker's answer to a batch; undefined stands for none, and an error for a lost connection. */
type Reply = number | undefined | Error;

function batchesIn(to: number, request: Buffer): { waitMs: number; batches: Batch[] } {
  const reader = Reader.from(request);
  reader.readNullableString();
  reader.readInt16();
  const waitMs = reader.readInt32();
  const topics = reader.readArray((of) => ({
    topic: of.readString(),
    partitions: of.readArray((it) => ({ index: it.readInt32(), bytes: it.readBytes() })),
  }));
  const batches = topics.flatMap(({ topic, partitions }) =>
    partitions.map(({ index, bytes }) => {
      const read = kafka.readRecordsBatch(Reader.from(Buffer.from(bytes)));
      return {
        ...{ to, topic, index, producerId: Number(read.producerId), sequence: read.firstSequence },
        values: read.records.map(({ value }) => JSON.parse(String(value))),
        isCompressed: read.attributes !== 0,
      };
    }),
  );
  return { waitMs, batches };
}

/** Brokers with topics; the leader of each partition is the id of a broker, and -1 is none. */
class Cluster {
  topics: Record<string, number[] | { code: number }>;
  reply: (batch: Batch) => Reply = () => OK;
  readonly batches: Batch[] = [];
  /** Ids of the brokers that got a request with batches, and the time for their replicas. */
  readonly requests: [to: number, waitMs: number][] = [];
  ids = 0;
  asked = 0;

  constructor(topics: Cluster["topics"]) {
    this.topics = topics;
  }

  get brokers(): BrokerConnections {
    const any = this.#connection(0);
    return {
      stepMs: 1_001,
      connectAny: async () => any,
      connect: async ({ port }: { port: number }) => this.#connection(port),
      askSeveral: async (_: unknown, ask: (it: object) => Promise<unknown>) => [await ask(any)],
    } as unknown as BrokerConnections;
  }

  #connection(id: number) {
    return { kafka, exchange: this.#exchange.bind(this, id) };
  }

  readonly #request = async (name: string, names: string[] | null) => {
    if (name === "initProducerId") return { producerId: BigInt(++this.ids), producerEpoch: 0 };
    this.asked += 1;
    const known = names!.flatMap((name) => {
      const of = this.topics[name];
      return of === undefined ? [] : [[name, of] as const];
    });
    return {
      brokers: [1, 2].map((nodeId) => ({ nodeId, host: `b${nodeId}`, port: nodeId })),
      topics: known.map(([name, of]) => ({
        ...{ name, topicId: name, errorCode: Array.isArray(of) ? 0 : of.code },
        partitions: (Array.isArray(of) ? of : []).map((leaderId, partitionIndex) => {
          return { partitionIndex, leaderId, leaderEpoch: 0 };
        }),
      })),
    };
  };

  #exchange(id: number, name: string, ask: (api: unknown, over: object) => Promise<unknown>) {
    const request = (_: unknown, names: string[] | null) => this.#request(name, names);
    if (name !== "produce") return ask({ async: request }, {});
    const send = async (...args: any[]) => {
      const [, , make] = args;
      const done = args.at(-1);
      const { waitMs, batches } = batchesIn(id, (await make()).buffer);
      this.requests.push([id, waitMs]);
      this.batches.push(...batches);
      const replies = batches.map((batch) => [batch, this.reply(batch)] as const);
      const lost = replies.find(([, reply]) => reply instanceof Error);
      if (lost !== undefined) return done(lost[1]);
      const responses = replies.flatMap(([{ topic, index }, errorCode]) => {
        if (errorCode === undefined) return [];
        return [{ name: topic, partitionResponses: [{ index, errorCode, baseOffset: 0n }] }];
      });
      done(null, { responses });
    };
    return ask(kafka.produceV11.api, { send });
  }
}

function setup(topics: Cluster["topics"], config: object = {}) {
  const cluster = new Cluster(topics);
  const given = { brokers: "b:1", topic: "t", ...config };
  const producer = new EventProducer(cluster.brokers, given as never);
  const write = (...events: OutgoingEvent[]) => producer.write(events, signal);
  /** The failure of a delivery. */
  const failure = (...events: OutgoingEvent[]) =>
    write(...events).then(
      () => undefined,
      (error: KafkaFailure) => [error.outlook, error.message, error.answer?.code],
    );
  const sent = () =>
    cluster.batches.splice(0).map(({ to, index, values, sequence, producerId }) => {
      return { to, index, sequence, producerId, values: values.map((it) => (it as Numbered).n) };
    });
  return { cluster, producer, write, failure, sent };
}

interface Numbered {
  n: number;
}
const event = (n: number, more: object = {}) => outgoing({ n, ...more });
/** The first key of this form whose events belong to partition `index` of `count`. */
function keyOf(index: number, count: number): string {
  for (let n = 0; ; n++) if (partitionOf(Buffer.from(`k${n}`), count) === index) return `k${n}`;
}
const inPartition = (n: number, index: number, count = 2) =>
  event(n, { userId: keyOf(index, count) });
const lost = () => new Error("The connection was lost");

test("events with a key go to its partition, and those without to another partition in each delivery", async () => {
  const { cluster, write, sent } = setup({ t: [1, 2, 1] });
  expect(await write(event(0), event(1), inPartition(2, 0, 3))).toEqual([true, true, true]);
  expect(sent()).toEqual([
    { to: 2, index: 1, sequence: 0, producerId: 1, values: [0, 1] },
    { to: 1, index: 0, sequence: 0, producerId: 1, values: [2] },
  ]);
  for (const index of [2, 0, 1]) {
    await write(event(3));
    expect(sent()).toMatchObject([{ index, values: [3] }]);
  }
  expect([cluster.ids, cluster.asked]).toEqual([1, 1]);
});

test("one request has the batches for all partitions of a leader, and waits half of a step for replicas", async () => {
  const { cluster, write, sent } = setup({ t: [1, 1] });
  await write(inPartition(0, 0), inPartition(1, 1), inPartition(2, 0));
  expect(cluster.requests).toEqual([[1, 500]]);
  expect(sent().map(({ index, values }) => [index, values])).toEqual([
    [0, [0, 2]],
    [1, [1]],
  ]);
  await write(inPartition(3, 0));
  expect(sent()).toEqual([{ to: 1, index: 0, sequence: 2, producerId: 1, values: [3] }]);
});

test("batches are compressed where the config says so", async () => {
  for (const [config, isCompressed] of [
    [{}, false],
    [{ compression: "none" }, false],
    [{ compression: "gzip" }, true],
  ] as const) {
    const { cluster, write } = setup({ t: [1] }, config);
    await write(event(0));
    expect(cluster.batches).toMatchObject([{ isCompressed }]);
  }
});

test("a delivery is given up after five rounds without progress, with longer pauses between them", async () => {
  const { cluster, failure, sent } = setup({ t: [1] });
  cluster.reply = () => NOT_LEADER;
  const reason = "The partition has another leader (topic t, error 6)";
  expect(await failure(event(0))).toEqual(["soon", reason, "6"]);
  expect(sent()).toHaveLength(5);
  expect(pauses).toEqual([100, 200, 400, 800]);
  // The leaders were asked for again in each round.
  expect(cluster.asked).toBe(5);
});

test("a round with progress begins the count of rounds and the pauses again", async () => {
  const { cluster, failure, write } = setup({ t: [1, 2] });
  let left = 4;
  cluster.reply = ({ index }) => (index === 0 && left-- > 0 ? NOT_LEADER : OK);
  expect(await write(inPartition(0, 0), inPartition(1, 1))).toEqual([true, true]);
  expect(pauses.splice(0)).toEqual([100, 100, 200, 400]);
  left = 6;
  expect((await failure(inPartition(2, 0), inPartition(3, 1)))?.[0]).toBe("soon");
  expect(pauses).toEqual([100, 100, 200, 400, 800]);
});

test("a failure that waits for an operator ends the delivery at once", async () => {
  const { cluster, failure, sent } = setup({ t: [1] });
  cluster.reply = () => NO_GRANT;
  const reason = "The user may not write to the topic (topic t, error 29)";
  expect(await failure(event(0))).toEqual(["later", reason, "29"]);
  expect([sent().length, pauses]).toEqual([1, []]);
});

test("a batch whose outcome is unknown is sent again unchanged, before other events of its partition", async () => {
  const { cluster, failure, write, sent } = setup({ t: [1, 1] });
  const [first, second, third] = [inPartition(0, 0), inPartition(1, 0), inPartition(2, 0)];
  cluster.reply = lost;
  expect(await failure(first, second)).toEqual(["later", "The connection was lost", undefined]);
  const batch = { to: 1, index: 0, sequence: 0, producerId: 1, values: [0, 1] };
  expect(sent()).toEqual([batch]);
  cluster.reply = ({ sequence }) => (sequence === 0 ? DUPLICATE : OK);
  expect(await write(third)).toEqual([true]);
  expect(sent()).toEqual([batch, { ...batch, sequence: 2, values: [2] }]);
  // The outcomes of the first events are known by now, once.
  expect(await write(first, second)).toEqual([true, true]);
  expect(sent()).toEqual([]);
  expect(await write(first)).toEqual([true]);
  expect(sent()).toEqual([{ ...batch, sequence: 3, values: [0] }]);
});

test("events whose outcome is known are not sent again with those of a failed delivery", async () => {
  const { cluster, failure, write, sent } = setup({ t: [1, 2] });
  const events = [inPartition(0, 0), inPartition(1, 1)] as const;
  cluster.reply = ({ index }) => (index === 1 ? lost() : OK);
  expect((await failure(...events))?.[0]).toBe("later");
  expect(sent().map(({ index }) => index)).toEqual([0, 1]);
  cluster.reply = () => OK;
  expect(await write(...events)).toEqual([true, true]);
  expect(sent()).toMatchObject([{ index: 1, values: [1] }]);
});

test("events that were not sent before a delivery failed are not kept for the next", async () => {
  const { cluster, failure, write, sent } = setup({ t: [1, -1] });
  const waiting = inPartition(1, 1);
  expect(await failure(inPartition(0, 0), waiting)).toEqual([
    ...["soon", "The partition has no leader at the moment (topic t, error 5)", undefined],
  ]);
  expect(sent()).toMatchObject([{ index: 0 }]);
  cluster.topics.t = [1, 2];
  expect(await write(inPartition(2, 0))).toEqual([true]);
  expect(sent()).toMatchObject([{ index: 0, values: [2] }]);
});

test("a broker that forgot the producer gets the batch under a new id", async () => {
  const { cluster, write, sent } = setup({ t: [1] });
  await write(event(0));
  cluster.reply = ({ producerId }) => (producerId === 1 ? UNKNOWN_PRODUCER : OK);
  expect(await write(event(1))).toEqual([true]);
  expect(sent().map(({ producerId, sequence }) => [producerId, sequence])).toEqual([
    [1, 0],
    [1, 1],
    [2, 0],
  ]);
});

test("a batch keeps its producer id while others have a new one", async () => {
  const { cluster, write, sent } = setup({ t: [1, 1] });
  let rounds = 0;
  cluster.reply = ({ index, producerId }) => {
    if (producerId > 1) return OK;
    if (index === 1) return UNKNOWN_PRODUCER;
    return rounds++ === 0 ? NOT_LEADER : OK;
  };
  expect(await write(inPartition(0, 0), inPartition(1, 1))).toEqual([true, true]);
  expect(sent().map(({ index, producerId }) => `${index} of ${producerId}`)).toEqual([
    ...["0 of 1", "1 of 1", "0 of 1", "1 of 2"],
  ]);
  // Each id has its own request.
  expect(cluster.requests).toHaveLength(3);
});

test("a broker that leaves a partition out of its answer is asked again", async () => {
  const { cluster, failure, write } = setup({ t: [1] });
  cluster.reply = () => undefined;
  expect(await failure(event(0))).toEqual([
    ...["soon", "The broker did not answer for a partition", undefined],
  ]);
  expect(cluster.requests).toHaveLength(5);
  let answers = 0;
  cluster.reply = () => (answers++ === 0 ? undefined : OK);
  expect(await write(event(1))).toEqual([true]);
});

test("a topic that is missing or refused fails the delivery, unless its name comes from events", async () => {
  const missing = "The topic does not exist (topic t, error 3)";
  const denied = "The user may not write to the topic (topic t, error 29)";
  const plain = setup({});
  expect(await plain.failure(event(0))).toEqual(["soon", missing, "3"]);
  expect(pauses).toHaveLength(4);
  plain.cluster.topics.t = { code: NO_GRANT };
  expect(await plain.failure(event(0))).toEqual(["later", denied, "29"]);
  const named = setup({ u: [1], v: { code: NO_GRANT } }, { topic: "{{event}}" });
  const events = ["t", "u", "v"].map((name, n) => event(n, { event: name }));
  expect(await named.write(...events)).toEqual([
    missing,
    true,
    denied.replace("topic t", "topic v"),
  ]);
  named.cluster.reply = ({ topic }) => (topic === "u" ? NO_GRANT : OK);
  expect(await named.write(events[1]!)).toEqual([denied.replace("topic t", "topic u")]);
});

test("a destination writes to a bounded number of topics, also when one delivery names more that exist", async () => {
  const names = Array.from({ length: KAFKA_TOPICS_MAX + 1 }, (_, n) => `t${n}`);
  const topics = Object.fromEntries(names.map((name) => [name, [1]]));
  const { write } = setup(topics, { topic: "{{event}}" });
  const results = await write(...names.map((name, n) => event(n, { event: name })));
  expect(results.slice(0, -1).every((result) => result === true)).toBe(true);
  expect(results.at(-1)).toBe(
    `The destination writes to ${KAFKA_TOPICS_MAX} topics, and t${KAFKA_TOPICS_MAX} would be one more`,
  );
});

test("events of a partition that is gone go to another one of their topic", async () => {
  const { cluster, write, sent } = setup({ t: [1, 1] });
  let isRecreated = false;
  cluster.reply = () => {
    if (isRecreated) return OK;
    isRecreated = true;
    cluster.topics.t = [2];
    return UNKNOWN_TOPIC;
  };
  expect(await write(inPartition(0, 1), inPartition(1, 1))).toEqual([true, true]);
  expect(sent().map(({ to, index, values }) => [to, index, values])).toEqual([
    [1, 1, [0, 1]],
    [2, 0, [0, 1]],
  ]);
});

test("events of a topic that was deleted are refused, and its last batch retires the producer id", async () => {
  const { cluster, write, sent } = setup({ a: [1], b: [1] }, { topic: "{{event}}" });
  const of = (name: string, n: number) => event(n, { event: name });
  await write(of("a", 0), of("b", 1));
  sent();
  cluster.reply = ({ topic }) => {
    if (topic === "b") return OK;
    delete cluster.topics.a;
    return UNKNOWN_TOPIC;
  };
  expect(await write(of("a", 2), of("b", 3))).toEqual([
    ...(["The topic does not exist (topic a, error 3)", true] as const),
  ]);
  await write(of("b", 4));
  expect(sent().map(({ producerId, values }) => [producerId, values])).toEqual([
    [1, [2]],
    [1, [3]],
    [2, [4]],
  ]);
});

test("a delivery that is stopped sends nothing more, and does not wait for its pause", async () => {
  const { cluster, producer, write, sent } = setup({ t: [1] });
  const reason = new Error("Stopped");
  const stopped = producer.write([event(0)], AbortSignal.abort(reason));
  await expect(stopped).rejects.toBe(reason);
  expect([cluster.asked, sent()]).toEqual([0, []]);
  const stop = new AbortController();
  cluster.reply = () => NOT_LEADER;
  sleeping.mockImplementationOnce(() => {
    queueMicrotask(() => stop.abort(reason));
    return new Promise(() => {});
  });
  await expect(producer.write([event(1)], stop.signal)).rejects.toBe(reason);
  expect(sent()).toHaveLength(1);
  cluster.reply = () => OK;
  expect(await write(event(2))).toEqual([true]);
});
