import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Base, BaseOptions, Broker, Connection } from "@platformatic/kafka";
import { BrokerHealth } from "../../src/kafka/broker-health.ts";
import type { KafkaLibrary } from "../../src/kafka/library.ts";
import { holds, until } from "../until.ts";

type Answer = "refused" | "silent" | { clusterId?: string; ids: number[]; epoch?: number };

/** What the broker with each id answers. The broker with id `n` listens on port `n`. */
const answers = new Map<number, Answer>();
let closed: number[];
let asked: string[][];

/** A client that asks one broker for metadata. */
class Asker {
  readonly id: number;
  readonly connections = {
    getFirstAvailable: (_: unknown, done: (found: string) => void) => done("any broker"),
    get: (broker: { port: number }, done: (found: string) => void) => done(`broker ${broker.port}`),
  };

  constructor({ bootstrapBrokers: [broker] }: { bootstrapBrokers: (string | { port: number })[] }) {
    this.id = typeof broker === "string" ? Number(broker.split(":")[1]) : broker!.port;
  }

  connect(done: (error: Error | null) => void): void {
    const answer = answers.get(this.id);
    if (answer !== "silent") done(answer === "refused" ? new Error(`${this.id} refused`) : null);
  }

  api(_: string, done: (error: null, api: unknown) => void): void {
    done(null, (_connection: unknown, topics: string[], ...args: unknown[]) => {
      asked.push(topics);
      const { clusterId = "c", ids, epoch = 1 } = answers.get(this.id) as Answer & object;
      const partition = { partitionIndex: 0, leaderId: 1, leaderEpoch: epoch };
      const topic = { name: "t", topicId: "id", partitions: [partition] };
      const brokers = ids.map((nodeId) => ({ nodeId, host: "b", port: nodeId }));
      const answer = { clusterId, controllerId: -1, topics: [topic], brokers };
      (args.at(-1) as (error: null, answer: unknown) => void)(null, answer);
    });
  }

  async close(): Promise<void> {
    closed.push(this.id);
  }
}

class Failed extends Error {
  constructor(
    message: string,
    readonly more?: unknown,
  ) {
    super(message);
  }
}
const kafka = {
  Base: Asker,
  kGetBootstrapConnection: "connect",
  kGetApi: "api",
  ResponseError: class {},
  NetworkError: Failed,
  MultipleErrors: Failed,
} as unknown as KafkaLibrary;

let health: BrokerHealth;
beforeEach(() => {
  answers.clear();
  [closed, asked] = [[], []];
});
afterEach(() => health.close());

function probe(of: Record<number, Answer>, named = Object.keys(of)): BrokerHealth {
  for (const [id, answer] of Object.entries(of)) answers.set(Number(id), answer);
  const bootstrapBrokers = named.map((id) => `b:${id}`);
  health = new BrokerHealth(kafka, { bootstrapBrokers } as BaseOptions);
  return health;
}

/** A pool of connections whose requests for any broker are kept, and answered with its choice. */
function poolOf(open: [string, Connection][] = []) {
  const got: number[] = [];
  const pool = {
    get: (broker: Broker, done: (error: null) => void) => {
      got.push(broker.port);
      done(null);
    },
    getFirstAvailable: (brokers: Broker[], done: (error: null, found: unknown) => void) =>
      done(null, brokers.map(addressOf)),
    [Symbol.iterator]: () => open.values(),
  };
  health.routeConnections({ connections: pool } as unknown as Pick<Base, "connections">);
  const first = (brokers: string[]) =>
    new Promise((resolve) =>
      pool.getFirstAvailable(brokers as never, (_, found) => resolve(found)),
    );
  const get = (broker: Broker | undefined) =>
    new Promise<Failed | null>((resolve) => pool.get(broker as Broker, resolve));
  return { first, get, got };
}
const addressOf = (broker: Broker | string) =>
  typeof broker === "string" ? broker : `${broker.host}:${broker.port}`;
const at = (port: number) => ({ host: "b", port }) as Broker;

test("any request goes to brokers that answer, then to outdated ones, then to the others", async () => {
  probe({
    1: "refused",
    2: { ids: [2, 3, 4], epoch: 1 },
    3: { ids: [2, 3, 4], epoch: 2 },
    4: { ids: [2, 3, 4], epoch: 2 },
    5: { ids: [5], clusterId: "d" },
  });
  await health.refresh(["t"]);
  const { first } = poolOf();
  expect(await first(["b:1", "b:2", "b:3"])).toEqual(["b:3", "b:4", "b:2", "b:1"]);
  expect(await first(["b:5", "b:1", "b:9"])).toEqual(["b:3", "b:4", "b:2", "b:1", "b:9"]);
});

test("a request waits for the first answer, or until all brokers have failed", async () => {
  probe({ 1: "silent", 2: "refused" });
  const { first } = poolOf();
  let found: unknown;
  void first(["b:1"]).then((it) => {
    found = it;
  });
  await holds(5, () => expect(found).toBeUndefined());
  await health.close();
  probe({ 1: "refused", 2: "refused" });
  expect(await poolOf().first(["b:1", "b:2"])).toEqual(["b:1", "b:2"]);
});

test("no connection is made to a broker that left the cluster or is in another one", async () => {
  probe({ 1: { ids: [1, 2] }, 3: { ids: [3], clusterId: "d" } });
  await health.refresh([]);
  const destroyed: string[] = [];
  const open = ["b:1", "b:2", "b:3"].map((address): [string, Connection] => [
    address,
    { socket: { destroy: () => destroyed.push(address) } } as unknown as Connection,
  ]);
  const { get, got } = poolOf(open);
  expect(await get(at(1))).toBeNull();
  expect(await get(at(2))).toBeNull();
  for (const broker of [at(3), undefined]) {
    const error = await get(broker);
    expect(error).toMatchObject({ more: { canRetry: true } });
    const name = broker === undefined ? "the broker" : "b:3";
    expect(error!.message).toBe(`The brokers do not know of ${name} any more`);
  }
  answers.set(1, { ids: [1] });
  await health.refresh([]);
  expect((await get(at(2)))!.message).toContain("b:2");
  expect(got).toEqual([1, 2]);
  expect(new Set(destroyed)).toEqual(new Set(["b:2", "b:3"]));
});

test("those that do not answer are unresponsive, from their first probe without an answer on", async () => {
  probe({ 2: "silent", 1: "refused", 3: { ids: [3] }, 4: { ids: [4], clusterId: "d" } });
  await health.refresh([]);
  expect(health.unresponsive()).toEqual(["b:1", "b:2"]);
  expect(health.unresponsive(60_000)).toEqual([]);
  answers.set(1, { ids: [3] });
  await until(async () => {
    await health.refresh([]);
    return health.unresponsive().length === 1;
  });
  expect(health.unresponsive()).toEqual(["b:2"]);
});

test("all that answer are asked, and those that fail are left out", async () => {
  probe({ 1: "refused", 2: { ids: [2] }, 3: { ids: [2, 3] } });
  await health.refresh(["t"]);
  expect(asked).toContainEqual(["t"]);
  const idOf = (client: Base) => (client as unknown as Asker).id;
  expect(await health.askEach(async (client) => idOf(client))).toEqual([2, 3]);
  const some = await health.askEach(async (client) => {
    if (idOf(client) === 2) throw new Error("No answer");
    return idOf(client);
  });
  expect(some).toEqual([3]);
});

test("the client of a broker asks no other one, also if it lists others", async () => {
  probe({ 1: { ids: [1, 2] }, 2: { ids: [1, 2] } });
  await health.refresh([]);
  const found = await health.askEach(async (client) => {
    const { id, connections } = client as unknown as Asker;
    let choice = "";
    const listed = [at(id), at(7)];
    connections.getFirstAvailable(listed, (broker) => {
      choice = broker;
    });
    return choice;
  });
  expect(found).toEqual(["broker 1", "broker 2"]);
});

test("what a broker said counts until it fails", async () => {
  probe({ 1: { ids: [1, 2] }, 2: { ids: [1, 2] } });
  await health.refresh([]);
  expect(health.view.leaders("t")).toEqual([1]);
  for (const id of [1, 2]) answers.set(id, "refused");
  await until(async () => {
    await health.refresh([]).catch(() => {});
    return health.unresponsive().length === 2;
  });
  expect(health.view.isEmpty).toBe(true);
  expect(health.view.leaders("t")).toBeUndefined();
});

test("the last failure of each broker is told, and whether a probe has ended", async () => {
  probe({ 1: "refused", 2: { ids: [2] }, 3: "silent" });
  await health.refresh([]);
  expect(health.lastProbes()).toMatchObject([
    { address: "b:1", error: { message: "1 refused" }, isProbed: true },
    { address: "b:2", error: undefined, isProbed: true },
    { address: "b:3", error: undefined, isProbed: false },
  ]);
});

test("a refresh fails when no broker answers, and after the end", async () => {
  probe({ 1: "refused", 2: "refused" });
  const failure = await health.refresh([]).catch((error) => error);
  expect(failure.message).toBe("Cannot connect to any broker.");
  expect(failure.more).toMatchObject([{ message: "1 refused" }, { message: "2 refused" }]);
  await health.close();
  expect(closed.toSorted()).toEqual([1, 2]);
  await expect(health.refresh([])).rejects.toMatchObject({ more: { canRetry: false } });
});

test("the brokers that others list are probed too, up to five in all", async () => {
  probe({ 1: { ids: [1, 2, 3, 4, 5, 6, 7] } }, ["1"]);
  for (const id of [2, 3, 4, 5, 6, 7]) answers.set(id, "refused");
  await health.refresh([]);
  expect(health.lastProbes().map(({ address }) => address)).toEqual([
    "b:1",
    "b:2",
    "b:3",
    "b:4",
    "b:5",
  ]);
});
