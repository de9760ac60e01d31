import { afterEach, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import type { BrokerConnection } from "../../src/destinations/kafka/broker-connection.ts";
import { BrokerConnections } from "../../src/destinations/kafka/broker-connections.ts";
import { type BrokerAddress, KafkaFailure } from "../../src/destinations/kafka/failures.ts";
import { KAFKA_CONNECTIONS_MAX } from "../../src/destinations/kafka/limits.ts";
import { DATABASE_IDLE_MS_MAX } from "../../src/destinations/limits.ts";
import { ScramDerivations } from "../../src/destinations/scram-keys.ts";
import { createEgress, type Egress } from "../../src/egress/egress.ts";
import { RawSink } from "../egress/sink.ts";
import { listen, METADATA, metadataAnswer, producerIdAnswer } from "./kafka-fake-broker.ts";

setDefaultTimeout(300_000);

const { signal } = new AbortController();
const egress = createEgress({ allow: ["127.0.0.0/8"] });
const opened: BrokerConnections[] = [];
afterEach(() => {
  for (const connections of opened.splice(0)) connections.closeAll(new Error("The test has ended"));
});

function connectionsTo(brokers: string, over: Partial<Egress> = {}): BrokerConnections {
  const connections = new BrokerConnections({
    egress: { ...egress, ...over },
    config: { brokers, topic: "events", tls: "off" },
    workspaceId: "workspace",
    scramKeys: new ScramDerivations().keysOf("workspace"),
  });
  opened.push(connections);
  return connections;
}

function addressOf(broker: string): BrokerAddress {
  const [host = "", port] = broker.split(":");
  return { host, port: Number(port) };
}

const startBroker = () => {
  const broker: Promise<string> = listen((key) =>
    key === METADATA ? metadataAnswer([], { leader: 1, epoch: 0 }) : producerIdAnswer,
  );
  return broker;
};

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: Error) => error.message,
  );

test("a connection is used until it or its session ends, and is then replaced", async () => {
  const broker = await startBroker();
  const connections = connectionsTo(broker);
  const connect = () => connections.connect(addressOf(broker), signal);
  const first = await connect();
  expect(await connect()).toBe(first);
  expect(await connections.connectAny(signal)).toBe(first);
  first.expiresAt = performance.now();
  expect(first.isOpen).toBe(false);
  const second = await connections.connectAny(signal);
  expect(second).not.toBe(first);
  expect(await connect()).toBe(second);
  second.destroy(new KafkaFailure("soon", "It broke"));
  expect(await connect()).not.toBe(second);
});

test("two that find a session ended share the connection that replaces it", async () => {
  const broker = await startBroker();
  const connections = connectionsTo(broker);
  const connect = () => connections.connect(addressOf(broker), signal);
  const first = await connect();
  first.expiresAt = performance.now();
  const [one, other] = await Promise.all([connect(), connect()]);
  expect(one).not.toBe(first);
  expect(other).toBe(one);
});

test("a connection that fails to open is opened again by the next that needs it", async () => {
  let attempts = 0;
  const broker = await startBroker();
  const connections = connectionsTo(broker, {
    connect: (options) =>
      attempts++ === 0 ? Promise.reject(new Error("Not yet")) : egress.connect(options),
  });
  const connect = () => connections.connect(addressOf(broker), signal);
  const both = await Promise.allSettled([connect(), connect()]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  expect(attempts).toBe(2);
});

test("a connection that is being opened ends with its delivery, and an open one outlives it", async () => {
  const stop = new AbortController();
  const reason = new KafkaFailure("soon", "The delivery has ended");
  const silent = new RawSink(() => stop.abort(reason));
  const hanging = connectionsTo("a:1");
  const port = await silent.listen();
  const waiting = hanging.connect({ host: "127.0.0.1", port }, stop.signal);
  expect(await failureOf(waiting)).toBe("The delivery has ended");
  silent.close();
  const broker = await startBroker();
  const connections = connectionsTo(broker);
  const delivery = new AbortController();
  const open = await connections.connectAny(delivery.signal);
  delivery.abort(new Error("The delivery has ended"));
  expect(open.isOpen).toBe(true);
  connections.closeAll(new KafkaFailure("later", "All are closed"));
  await Promise.resolve();
  expect(open.isOpen).toBe(false);
});

test("brokers of the config are tried in turn, from a random one on", async () => {
  const connections = connectionsTo("a:1,b:2,c:3");
  const tried: string[] = [];
  spyOn(connections, "connect").mockImplementation(async ({ host }) => {
    tried.push(host);
    throw new KafkaFailure("soon", `No ${host}`);
  });
  const failure = await failureOf(connections.connectAny(signal));
  expect(tried.toSorted()).toEqual(["a", "b", "c"]);
  // The error is that of the first address, and the next delivery begins after the last one.
  expect(failure).toBe(`No ${tried[0]}`);
  await failureOf(connections.connectAny(signal));
  expect(tried.slice(3)).toEqual(tried.slice(0, 3));
  expect(connections.bootstrap.map(({ port }) => port)).toEqual([1, 2, 3]);
});

test("a connection has the timeout of a step, and is inside TLS unless the config says otherwise", async () => {
  const requestFor = async (more: object) => {
    const asked: Record<string, unknown>[] = [];
    const connect = async (request: object) => {
      asked.push({ ...request });
      throw new Error("Not connected");
    };
    const config = { brokers: "a:1", topic: "t", ...more };
    const scramKeys = new ScramDerivations().keysOf("w");
    const parts = { egress: { ...egress, connect }, config, workspaceId: "w", scramKeys };
    const failure = await failureOf(new BrokerConnections(parts as never).connectAny(signal));
    expect(failure).toBe("Broker a:1: Not connected");
    return asked[0]!;
  };
  expect(await requestFor({ timeoutMs: 7, tlsCa: "ca", tlsServerName: "name" })).toMatchObject({
    ...{ workspaceId: "w", host: "a", port: 1, timeoutMs: 7 },
    tls: { ca: "ca", serverName: "name" },
  });
  expect(await requestFor({ tls: "verify" })).toHaveProperty("tls");
  expect(await requestFor({ tls: "off" })).not.toHaveProperty("tls");
});

test("a step takes at most 10 s, and less where the config says so", () => {
  const stepMs = (timeoutMs?: number) => {
    const config = { brokers: "a:1", topic: "t", ...(timeoutMs !== undefined && { timeoutMs }) };
    const scramKeys = new ScramDerivations().keysOf("w");
    return new BrokerConnections({ egress, config, workspaceId: "w", scramKeys }).stepMs;
  };
  expect([stepMs(), stepMs(9_999), stepMs(60_000)]).toEqual([10_000, 9_999, 10_000]);
});

test("any open connection serves, also one to a broker that the config does not name", async () => {
  const broker = await startBroker();
  const connections = connectionsTo("127.0.0.1:1");
  const named = await connections.connect(addressOf(broker), signal);
  expect(await connections.connectAny(signal)).toBe(named);
});

test("a request over a session that has ended fails with that reason", async () => {
  const broker = await startBroker();
  const connections = connectionsTo(broker);
  const connect = () => connections.connect(addressOf(broker), signal);
  const first = await connect();
  first.expiresAt = performance.now();
  const waiting = failureOf(
    first.exchange("metadata", (api, over) => api.async(over, ["events"], false, false)),
  );
  await connect();
  expect(await waiting).toBe(`Broker ${broker}: The session with the broker has ended`);
});

test("of several brokers that fail, one that may come back is named and not one that is refused", async () => {
  for (let turn = 0; turn < 8; turn++) {
    const connections = connectionsTo("10.1.2.3:9092,127.0.0.1:1");
    expect(await failureOf(connections.connectAny(signal))).toStartWith("Broker 127.0.0.1:1: ");
  }
  expect(await failureOf(connectionsTo("10.1.2.3:9092").connectAny(signal))).toStartWith(
    "Broker 10.1.2.3:9092: Requests must not reach this address",
  );
});

test("a delivery that is stopped connects to no broker", async () => {
  const reason = new Error("Stopped");
  const connections = connectionsTo("127.0.0.1:1");
  const connect = spyOn(connections, "connect");
  expect(await failureOf(connections.connectAny(AbortSignal.abort(reason)))).toBe("Stopped");
  expect(connect).not.toHaveBeenCalled();
});

test("connections are closed once they are not used for their time, unless a delivery begins", async () => {
  const broker = await startBroker();
  const connections = connectionsTo(broker);
  const connection = await connections.connectAny(signal);
  const timers = spyOn(globalThis, "setTimeout");
  const cleared = spyOn(globalThis, "clearTimeout");
  try {
    await connections.within(signal, async () => {});
    const [close, ms] = timers.mock.calls.at(-1)!;
    expect(ms).toBe(DATABASE_IDLE_MS_MAX);
    const timer = timers.mock.results.at(-1)!.value;
    cleared.mockClear();
    void connections.within(AbortSignal.abort(), () => new Promise(() => {}));
    expect(cleared).toHaveBeenNthCalledWith(1, timer);
    expect(connection.isOpen).toBe(true);
    (close as () => void)();
    await Promise.resolve();
    expect(connection.isOpen).toBe(false);
  } finally {
    timers.mockRestore();
    cleared.mockRestore();
  }
});

test("a cluster that names ever more brokers gets a bounded number of connections", async () => {
  const hanging = connectionsTo("a:1", { connect: () => new Promise<never>(() => {}) });
  const connect = (n: number) => hanging.connect({ host: `b${n}`, port: 1 }, signal);
  for (let n = 0; n < KAFKA_CONNECTIONS_MAX; n++) void connect(n);
  expect(await failureOf(connect(KAFKA_CONNECTIONS_MAX))).toBe(
    `The cluster has more than ${KAFKA_CONNECTIONS_MAX} brokers`,
  );
});

test("a port that no server can have is not connected to", async () => {
  const refusing = connectionsTo("a:1", {
    connect: () => Promise.reject(new Error("It was connected to")),
  });
  for (const port of [0, 65_536]) {
    expect(await failureOf(refusing.connect({ host: "b", port }, signal))).toBe(
      `Broker b:${port}: The port does not exist`,
    );
  }
  for (const port of [1, 65_535]) {
    expect(await failureOf(refusing.connect({ host: "b", port }, signal))).toBe(
      `Broker b:${port}: It was connected to`,
    );
  }
});

test("three brokers are asked at once, in turn among those that are known, each once", async () => {
  const connections = connectionsTo("a:1,b:1");
  spyOn(connections, "connect").mockImplementation(async ({ host }) => host as never);
  const preferred = ["c:1", "d:1", "b:1"].map(addressOf);
  const asked: string[] = [];
  for (let turn = 0; turn < 4; turn++) {
    const ask = async (host: BrokerConnection) => String(host);
    const answers = await connections.askSeveral(preferred, ask, signal);
    expect(new Set(answers).size).toBe(3);
    asked.push(...answers);
  }
  expect(asked.sort().join("")).toBe("aaabbbcccddd");
});

test("a request to several brokers succeeds if some answer, and else rejects with a failure that a retry may pass", async () => {
  const connections = connectionsTo("a:1,b:1,c:1");
  spyOn(connections, "connect").mockImplementation(async ({ host }) => host as never);
  const failing = (failures: Record<string, KafkaFailure>) =>
    connections.askSeveral(
      [],
      async (connection) => {
        const failure = failures[String(connection)];
        if (failure !== undefined) throw failure;
        return String(connection);
      },
      signal,
    );
  const refused = new KafkaFailure("refused", "It is not allowed");
  const passing = new KafkaFailure("soon", "It is silent");
  expect((await failing({ a: refused })).sort()).toEqual(["b", "c"]);
  expect(await failureOf(failing({ a: refused, b: passing, c: refused }))).toBe("It is silent");
  expect(await failureOf(failing({ a: refused, b: refused, c: refused }))).toBe(
    "It is not allowed",
  );
});
