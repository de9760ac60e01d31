import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import type {
  DeliveryResult,
  DestinationKind,
  OpenDestination,
} from "../../src/destinations/destination.ts";
import { topicOf } from "../../src/destinations/kafka/config.ts";
import { kafkaKind } from "../../src/destinations/kafka/kafka.ts";
import { KAFKA_TOPICS_MAX } from "../../src/destinations/kafka/limits.ts";
import { partitionOf } from "../../src/destinations/kafka/partition.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { connectClients, type KafkaClients } from "../../src/kafka/client.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import {
  account,
  type GuardedBroker,
  sharedGuardedBroker,
  stranger,
} from "../cluster/guarded-broker.ts";
import { ca } from "../cluster/tls.ts";
import { describeWith } from "../counterpart.ts";
import { describeDestination } from "./contract.ts";
import { readTopic } from "./kafka-topic.ts";
import { outgoing } from "./outgoing.ts";
import { TcpProxy } from "./proxy.ts";

setDefaultTimeout(300_000);

let broker: GuardedBroker;
let clients: KafkaClients;
let topics = 0;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  if (brokersMissing !== undefined) return;
  broker = await sharedGuardedBroker();
  clients = await connectClients({ brokers: broker.addresses });
});
afterAll(async () => {
  await clients?.close();
  await broker?.stop();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const egress = createEgress({ allow: ["127.0.0.0/8"] });
const kind: DestinationKind = kafkaKind(egress);
const { signal } = new AbortController();

const yes = () => true;
const no = () => false;

/** Creates a topic for one test. */
async function madeTopic(partitions = 1, configs: Record<string, string> = {}, name?: string) {
  topics += 1;
  const topic = name ?? `topic-${topics}`;
  const admin = clients.admin();
  await admin.createTopics({
    ...{ topics: [topic], partitions, replicas: 1 },
    configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
  });
  // The broker hears of the topic a little later than who asked for it.
  const asked = { topics: [topic], forceUpdate: true, retries: 0 };
  const isUnknown = () => admin.metadata(asked).then(no, yes);
  while (await isUnknown()) await Bun.sleep(20);
  return topic;
}

const configOf = (topic: string, over: Record<string, unknown> = {}) => ({
  ...{ brokers: broker.addresses[0]!, tls: "off", topic },
  ...over,
});

function opened(config: Record<string, unknown>): OpenDestination {
  expect(kind.validate(config)).toEqual([]);
  const open = kind.open(config, "workspace");
  ends.push(() => open.close());
  return open;
}

const valuesOf = async (topic: string) => (await readTopic(clients, topic)).map((it) => it.value);
const delivered = { kind: "delivered" } as const;

/** Delivers until the result fits: a busy broker needs its time for topics and grants. */
async function settled(
  open: OpenDestination,
  events: Parameters<OpenDestination["deliver"]>[0],
  isOver: (result: DeliveryResult) => boolean,
): Promise<DeliveryResult> {
  for (;;) {
    const result = await open.deliver(events, signal);
    if (isOver(result)) return result;
    await Bun.sleep(20);
  }
}

if (brokersMissing === undefined) {
  describeDestination("kafka", async () => {
    const topic = await madeTopic();
    const config = configOf(topic, { batchSize: 10 });
    const broken = (over: Record<string, unknown>) => ({ ...config, ...over });
    const { topic: _, ...without } = config;
    const sasl = { user: "a", password: "b" };
    return {
      kind,
      config,
      faulty: [
        { config: without, path: "/topic" },
        ...["", "a b", "ä", "{{type}}", "x".repeat(250), "."].map((it) => ({
          config: broken({ topic: it }),
          path: "/topic",
        })),
        ...["", "kafka", "kafka:0", "kafka:99999", "a:1,,b:2", "http://kafka:9092"].map((it) => ({
          config: broken({ brokers: it }),
          path: "/brokers",
        })),
        { config: broken({ user: "a" }), path: "/password" },
        { config: broken({ ...sasl, mechanism: "PLAIN" }), path: "/mechanism" },
        { config: broken({ ...sasl, mechanism: "GSSAPI" }), path: "/mechanism" },
        { config: broken({ compression: "zstd" }), path: "/compression" },
        { config: broken({ headers: [{ from: "a" }] }), path: "/headers" },
        { config: broken({ headers: [{ from: "type", to: "b" }] }), path: "/headers/0/from" },
        { config: broken({ batchSize: 0 }), path: "/batchSize" },
      ],
      unusable: [
        { config: broken({ brokers: "nowhere.invalid:9092" }), step: "resolve" },
        { config: broken({ brokers: "10.1.2.3:9092" }), step: "resolve" },
        { config: broken({ brokers: "127.0.0.1:1" }), step: "connect" },
        { config: broken({ tls: "verify" }), step: "tls" },
        { config: broken({ brokers: broker.tls, tls: "verify" }), step: "tls" },
        { config: broken({ brokers: broker.tls }), step: "sign-in" },
        { config: broken({ brokers: broker.sasl, ...sasl }), step: "sign-in" },
        { config: broken({ topic: "missing" }), step: "write" },
      ],
      arrived: async () => await valuesOf(topic),
      async end() {},
    };
  });
}

describeWith(brokersMissing)("kafka", () => {
  test("a record has the user's id as key, and messageId, type, source and time as headers", async () => {
    const topic = await madeTopic(8);
    const open = opened(configOf(topic, { headers: [{ from: "team", to: "grÖwth" }] }));
    const input = { messageId: "m", sourceId: "s", receivedAt: 1_767_323_045_678, type: "page" };
    const events = [{ userId: "ä", anonymousId: "b" }, { anonymousId: "b" }, { userId: 7 }, {}];
    expect(
      await open.deliver(
        events.map((it) => outgoing(it, input)),
        signal,
      ),
    ).toEqual(delivered);
    const read = await readTopic(clients, topic);
    expect(new Set(read.map(({ key }) => key))).toEqual(new Set(["ä", "b", "7", undefined]));
    for (const { key, partition, headers, timestamp } of read) {
      if (key !== undefined) expect(partition).toBe(partitionOf(Buffer.from(key), 8));
      expect(timestamp).toBe(input.receivedAt);
      expect(headers).toEqual({
        ...{ messageId: "m", type: "page", sourceId: "s", team: "grÖwth" },
        receivedAt: "2026-01-02T03:04:05.678Z",
      });
    }
  });

  test("a key has the partition that the library's hash and Java's give it", async () => {
    const { compatibilityPartitioner } = await import("@platformatic/kafka");
    for (let length = 0; length < 100; length++) {
      const key = Buffer.from(crypto.getRandomValues(new Uint8Array(length)));
      const hash = compatibilityPartitioner({} as never, key);
      expect([key, partitionOf(key, 37)]).toEqual([key, hash % 37]);
    }
    // Expected values from the tests of Kafka's Java client.
    expect(partitionOf(Buffer.from("21"), 0x7fffffff)).toBe(-973932308 & 0x7fffffff);
  });

  test.each([
    { template: "events", name: "x", topic: "events" },
    { template: "web.{{event}}", name: "Order Completed", topic: "web.Order_Completed" },
    { template: "{{event}}", name: "ä/€", topic: "_" },
    { template: "{{event}}", name: "..", topic: "_" },
    { template: "{{event}}-{{event}}", name: "a", topic: "a-a" },
    { template: "a{{event}}", name: "b".repeat(1_000), topic: `a${"b".repeat(248)}` },
  ])("$template of an event is the topic $topic", ({ template, name, topic }) => {
    expect(topicOf(template, name)).toBe(topic);
  });

  test("an event goes to the topic of its name; only an event without a topic is a dead letter", async () => {
    const prefix = `by-name-${topics}.`;
    await madeTopic(1, {}, `${prefix}Order_Completed`);
    await madeTopic(1, {}, `${prefix}page`);
    const open = opened(configOf(`${prefix}{{event}}`));
    const events = [
      { type: "track", event: "Order Completed", n: 0 },
      { type: "track", event: "Unknown", n: 1 },
      { type: "page", n: 2 },
    ];
    const verdict = await open.deliver(
      events.map((it) => outgoing(it)),
      signal,
    );
    const reason = `The topic does not exist (topic ${prefix}Unknown, error 3)`;
    expect(verdict).toEqual({ kind: "delivered", refused: new Map([[1, reason]]) });
    expect(await valuesOf(`${prefix}Order_Completed`)).toEqual([events[0]]);
    expect(await valuesOf(`${prefix}page`)).toEqual([events[2]]);
    const [write] = (await kind.test(configOf(`${prefix}{{event}}`), "w", signal)).slice(-1);
    expect(write).toMatchObject({ step: "write", ok: true });
    expect(write!.message).toStartWith("Nothing was written: The topic does not exist");
  });

  test("a deleted topic does not delay events of other topics", async () => {
    const prefix = `deleted-${topics}.`;
    for (const name of ["gone", "there"]) await madeTopic(1, {}, prefix + name);
    const open = opened(configOf(`${prefix}{{event}}`));
    const eventsOf = () => ["gone", "there"].map((event) => outgoing({ event }));
    expect(await open.deliver(eventsOf(), signal)).toEqual(delivered);
    await clients.admin().deleteTopics({ topics: [`${prefix}gone`] });
    const refused = new Map([[0, `The topic does not exist (topic ${prefix}gone, error 3)`]]);
    // The broker takes its time to forget the topic.
    let sent = 1;
    let verdict: DeliveryResult = delivered;
    for (; !("refused" in verdict); sent++) {
      await Bun.sleep(20);
      verdict = await open.deliver(eventsOf(), signal);
      expect(verdict.kind).toBe("delivered");
    }
    expect(verdict).toEqual({ kind: "delivered", refused });
    expect((await valuesOf(`${prefix}there`)).length).toBe(sent);
  });

  test("an event with the name of an internal topic is a dead letter, and delays no others", async () => {
    await madeTopic(1, {}, "__transaction_state");
    const there = await madeTopic();
    const open = opened(configOf("{{event}}"));
    const events = ["__transaction_state", there].map((event) => outgoing({ event }));
    const reason = "The topic's name is not valid (topic __transaction_state, error 17)";
    const isOver = (it: DeliveryResult) => it.kind !== "retry" || it.reason === reason;
    const verdict = await settled(open, events, isOver);
    expect(verdict).toEqual({ kind: "delivered", refused: new Map([[0, reason]]) });
    expect(await valuesOf(there)).toEqual([{ event: there }]);
  });

  test("events for a missing topic are delivered once the topic exists", async () => {
    const name = `late-${topics}`;
    const open = opened(configOf(name));
    const events = [outgoing({ n: 0 })];
    expect(await open.deliver(events, signal)).toEqual({
      kind: "retry",
      reason: `The topic does not exist (topic ${name}, error 3)`,
      answer: { code: "3" },
    });
    await madeTopic(1, {}, name);
    expect(await open.deliver(events, signal)).toEqual(delivered);
    expect(await valuesOf(name)).toEqual([{ n: 0 }]);
  });

  test("a destination makes brokers create topics only up to its bound", async () => {
    const prefix = `asked-${topics}.`;
    const open = opened(configOf(`${prefix}{{event}}`, { createTopics: true }));
    const events = [outgoing({ type: "track", event: "First" }), outgoing({ type: "page" })];
    const verdict = await settled(open, events, ({ kind }) => kind !== "retry");
    expect(verdict).toEqual(delivered);
    expect((await valuesOf(`${prefix}First`)).length).toBe(1);
    expect((await valuesOf(`${prefix}page`)).length).toBe(1);
  });

  test("an event too large for the topic is a dead letter, and does not delay others", async () => {
    const topic = await madeTopic(1, { "max.message.bytes": "20000" });
    const open = opened(configOf(topic));
    const size = (n: number) => (n === 30 ? 30_000 : 500);
    const events = Array.from({ length: 100 }, (_, n) => ({ n, text: "x".repeat(size(n)) }));
    const verdict = await open.deliver(
      events.map((it) => outgoing(it)),
      signal,
    );
    if (verdict.kind !== "delivered") throw new Error(verdict.reason);
    expect([...verdict.refused!.keys()]).toEqual([30]);
    expect(verdict.refused!.get(30)).toStartWith("The record is larger than the topic takes");
    expect(await valuesOf(topic)).toEqual(events.toSpliced(30, 1));
  });

  test("an event that the topic rejects is a dead letter, and its neighbours arrive once", async () => {
    const topic = await madeTopic(1, { "cleanup.policy": "compact" });
    const open = opened(configOf(topic));
    const events = Array.from({ length: 20 }, (_, n) => (n % 7 === 3 ? { n } : { n, userId: "u" }));
    const verdict = await open.deliver(
      events.map((it) => outgoing(it)),
      signal,
    );
    if (verdict.kind !== "delivered") throw new Error(verdict.reason);
    expect([...verdict.refused!.keys()].sort((a, b) => a - b)).toEqual([3, 10, 17]);
    expect(verdict.refused!.get(3)).toStartWith("The topic does not take such a record");
    expect(await valuesOf(topic)).toEqual(events.filter((it) => "userId" in it));
  });

  test("other clients read batches that are compressed by gzip", async () => {
    const topic = await madeTopic(2);
    const open = opened(configOf(topic, { compression: "gzip" }));
    const events = Array.from({ length: 500 }, (_, n) => ({ n, userId: `u${n}` }));
    expect(
      await open.deliver(
        events.map((it) => outgoing(it)),
        signal,
      ),
    ).toEqual(delivered);
    const read = (await valuesOf(topic)) as { n: number }[];
    expect(read.map(({ n }) => n).sort((a, b) => a - b)).toEqual(events.map(({ n }) => n));
  });

  describe("TLS and SASL", () => {
    const tls = { tls: "verify", tlsCa: ca };
    test.each([
      ["TLS", "tls", tls],
      ["TLS under another name", "tls", { ...tls, tlsServerName: "broker.test" }],
      ["SCRAM-SHA-256", "sasl", { ...account, mechanism: "SCRAM-SHA-256" }],
      ["SCRAM-SHA-512", "sasl", account],
      ["SCRAM inside TLS", "saslTls", { ...tls, ...account }],
      ["PLAIN inside TLS", "saslTls", { ...tls, ...account, mechanism: "PLAIN" }],
    ] as const)("reaches the broker by %s", async (_, way, over) => {
      const topic = await madeTopic();
      const config = configOf(topic, { brokers: broker[way], ...over });
      expect((await kind.test(config, "w", signal)).filter(({ ok }) => !ok)).toEqual([]);
      expect(await opened(config).deliver([outgoing({ n: 0 })], signal)).toEqual(delivered);
      expect(await valuesOf(topic)).toContainEqual({ n: 0 });
    });

    test.each([
      ["another password", "saslTls", { ...tls, ...account, password: "x" }, /do not accept/],
      ["another password in the open", "sasl", { ...account, password: "x" }, /do not accept/],
      ["a needless user", "plain", account, /ask for no user on this port \(error 34\)$/],
      ["no user", "sasl", {}, /closed the connection; it may require a user$/],
      ["no authority", "tls", { tls: "verify" }, /certificate is not accepted/],
      ["another name", "tls", { ...tls, tlsServerName: "x.test" }, /certificate is not accepted/],
      ["no TLS", "tls", {}, /requires TLS; set `tls` to `verify`$/],
    ] as const)("says why it cannot, and tries again: %s", async (_, way, over, reason) => {
      const brokers = way === "plain" ? broker.addresses[0]! : broker[way];
      const verdict = await opened(configOf("any", { brokers, ...over })).deliver(
        [outgoing({ n: 0 })],
        signal,
      );
      expect(verdict.kind).toBe("retry");
      expect((verdict as { reason: string }).reason).toMatch(reason);
      expect((verdict as { reason: string }).reason).toStartWith(`Broker ${brokers}: `);
    });

    /** Operations on a topic, by Kafka's numbers; who may write or read may describe. */
    const [READ, WRITE] = [3, 4];
    /** Lets the stranger do something with a topic (2) of this literal name (3). */
    async function grant(topic: string, operation: number) {
      const what = { resourceType: 2, resourceName: topic, resourcePatternType: 3 };
      const who = { principal: `User:${stranger.user}`, host: "*", operation, permissionType: 3 };
      await clients.admin().createAcls({ creations: [{ ...what, ...who }] } as never);
    }

    /** Takes back what `grant` has given. */
    async function withdraw(topic: string, operation: number) {
      const what = { resourceType: 2, resourceName: topic, resourcePatternType: 3 };
      const who = { principal: `User:${stranger.user}`, host: "*", operation, permissionType: 3 };
      await clients.admin().deleteAcls({ filters: [{ ...what, ...who }] } as never);
    }

    test("with topics by name, those that the user may not write to hold up no others", async () => {
      const prefix = `granted-${topics}.`;
      for (const name of ["write", "read", "nothing"]) await madeTopic(1, {}, prefix + name);
      await grant(`${prefix}write`, WRITE);
      await grant(`${prefix}read`, READ);
      const over = { brokers: broker.sasl, ...stranger };
      const open = opened(configOf(`${prefix}{{event}}`, over));
      const events = ["write", "read", "nothing"].map((event) => outgoing({ event }));
      const refused = (verdict: DeliveryResult) =>
        verdict.kind === "delivered" ? [...(verdict.refused?.keys() ?? [])] : [];
      const verdict = await settled(open, events, (it) => refused(it).length === 2);
      expect(refused(verdict).sort()).toEqual([1, 2]);
      expect(await valuesOf(`${prefix}write`)).toContainEqual({ event: "write" });
      expect(await valuesOf(`${prefix}read`)).toEqual([]);
    });

    test("a grant that is withdrawn between batches delays events, and loses and repeats none", async () => {
      const topic = await madeTopic();
      const open = opened(configOf(topic, { brokers: broker.sasl, ...stranger }));
      await grant(topic, WRITE);
      let n = 0;
      /** Delivers batches as a lane does, until one has ended in a certain way. */
      async function deliverUntil(kind: DeliveryResult["kind"]): Promise<DeliveryResult> {
        for (;;) {
          const events = Array.from({ length: 10 }, () => outgoing({ n: n++, userId: "u" }));
          let verdict = await open.deliver(events, signal);
          for (; verdict.kind === "retry"; verdict = await open.deliver(events, signal)) {
            expect(verdict.reason).toMatch(
              /^The user may (not write to the topic|write to no topic)/,
            );
            if (kind === "retry") {
              await grant(topic, WRITE);
              kind = "delivered";
            }
          }
          expect(verdict).toEqual(delivered);
          if (kind === "delivered") return verdict;
        }
      }
      await deliverUntil("delivered");
      await withdraw(topic, WRITE);
      await deliverUntil("retry");
      await deliverUntil("delivered");
      const read = (await valuesOf(topic)) as { n: number }[];
      expect(read.map((value) => value.n)).toEqual(Array.from({ length: n }, (_, at) => at));
    });

    test("a user without a grant waits for it, and loses nothing", async () => {
      const topic = await madeTopic();
      const open = opened(configOf(topic, { brokers: broker.sasl, ...stranger }));
      const events = [outgoing({ n: 0 })];
      const verdict = await open.deliver(events, signal);
      expect(verdict.kind).toBe("retry");
      expect((verdict as { reason: string }).reason).toMatch(/^The user may not write/);
      await grant(topic, WRITE);
      await settled(open, events, ({ kind }) => kind === "delivered");
      expect(await valuesOf(topic)).toEqual([{ n: 0 }]);
    });
  });

  describe("the guard", () => {
    test("brokers at private addresses are refused, with the setting that allows them", async () => {
      const guarded = createEgress({ allow: [] });
      ends.push(() => guarded.close());
      const open = (kafkaKind(guarded) as DestinationKind).open(configOf("any"), "workspace");
      expect(await open.deliver([outgoing({})], signal)).toEqual({
        kind: "rejected",
        reason: `Broker ${broker.addresses[0]}: Requests must not reach this address (loopback) unless \`egress.allow\` holds it`,
      });
      await open.close();
    });

    test("an address that a broker names is checked like one of the config", async () => {
      const topic = await madeTopic();
      const open = opened(configOf(topic, { brokers: broker.elsewhere }));
      expect(await open.deliver([outgoing({})], signal)).toEqual({
        kind: "rejected",
        reason:
          "Broker 10.1.2.3:9092: Requests must not reach this address (private) unless `egress.allow` holds it",
      });
      expect(await valuesOf(topic)).toEqual([]);
    });
  });

  describe("brokers in trouble", () => {
    /** A destination that knows the broker by the proxy alone: it names itself past it, though. */
    async function proxied() {
      const [, port] = broker.addresses[0]!.split(":");
      const proxy = new TcpProxy(Number(port));
      ends.push(() => proxy.close());
      return { proxy, brokers: `127.0.0.1:${await proxy.listen()}` };
    }

    test("a silent broker ends the delivery at the time limit", async () => {
      const { proxy, brokers } = await proxied();
      proxy.isStalled = true;
      const open = opened(configOf(await madeTopic(), { brokers, timeoutMs: 4_000 }));
      const verdict = await open.deliver([outgoing({})], signal);
      expect(verdict.kind).toBe("retry");
      proxy.isStalled = false;
      await settled(open, [outgoing({})], ({ kind }) => kind === "delivered");
    });

    test("a server that is no Kafka broker is reported as such, however much it sends", async () => {
      const { proxy, brokers } = await proxied();
      const said: Buffer[] = [Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")];
      proxy.onAnswered = (piece) => {
        piece.set(said[0]!.subarray(0, piece.length));
        return true;
      };
      const open = opened(configOf(await madeTopic(), { brokers }));
      expect(await open.deliver([outgoing({})], signal)).toEqual({
        kind: "retry",
        reason: `Broker ${brokers}: The server does not answer as a Kafka broker does`,
      });
    });

    test("an unreachable first broker is skipped", async () => {
      const brokers = `127.0.0.1:1,${broker.addresses[0]}`;
      for (let tries = 0; tries < 4; tries++) {
        const open = opened(configOf(await madeTopic(), { brokers }));
        expect(await open.deliver([outgoing({})], signal)).toEqual(delivered);
      }
    });

    test("missing topics do not evict existing ones from the topic cache", async () => {
      const prefix = `room-${topics}.`;
      await madeTopic(1, {}, `${prefix}real`);
      const open = opened(configOf(`${prefix}{{event}}`));
      for (let round = 0; round < 2; round++) {
        const names = Array.from({ length: KAFKA_TOPICS_MAX }, (_, n) => `made-up-${round}-${n}`);
        const events = [...names, "real"].map((event) => outgoing({ type: "track", event }));
        const verdict = await open.deliver(events, signal);
        if (verdict.kind !== "delivered") throw new Error(verdict.reason);
        expect(verdict.refused!.size).toBe(KAFKA_TOPICS_MAX);
      }
      expect((await valuesOf(`${prefix}real`)).length).toBe(2);
    });
  });
});
