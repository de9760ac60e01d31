import { expect, test } from "bun:test";
import type { Producer } from "@platformatic/kafka";
import { loadKafkaLibrary } from "../../src/kafka/library.ts";
import { BrokerClock, createProduceClient } from "../../src/kafka/produce-client.ts";

const kafka = await loadKafkaLibrary();
const producerId = { producerId: 1n, producerEpoch: 0 };
const broker = { nodeId: 7, host: "b", port: 9_092, rack: null };

/** A client whose requests are kept; `failures` are the errors of its connection and request. */
function setup(failures: { connection?: Error; api?: Error } = {}) {
  const calls: unknown[][] = [];
  const api = {
    async async(...args: unknown[]) {
      calls.push(["produce", args[1], args[2]]);
      return { responses: [] };
    },
  };
  const producer = {
    metadata: async (options: unknown) => void calls.push(["metadata", options]),
    initIdempotentProducer: async (options: unknown) => {
      calls.push(["init", options]);
      return producerId;
    },
    connections: {
      get(asked: unknown, done: (error: Error | null, found?: unknown) => void) {
        calls.push(["connect", asked]);
        if (failures.connection) done(failures.connection);
        else done(null, "connection");
      },
    },
    [kafka.kGetApi](name: string, done: (error: Error | null, found?: unknown) => void) {
      calls.push(["api", name]);
      if (failures.api) done(failures.api);
      else done(null, api);
    },
  } as unknown as Producer;
  const view = { leaders: (topic: string) => [topic.length], brokers: new Map([[7, broker]]) };
  const options = { view, waitMs: 5, compression: "none" as const };
  return { calls, client: createProduceClient(kafka, producer, options) };
}

test("leaders and addresses are those of the shared view, which is asked for again on demand", async () => {
  const { client, calls } = setup();
  expect(client.leaders("abc")).toEqual([3]);
  expect([client.addressOf(7), client.addressOf(8)]).toEqual(["b:9092", undefined]);
  await client.refreshLeaders("t");
  expect(await client.initProducerId()).toBe(producerId);
  expect(calls).toEqual([
    ["metadata", { topics: ["t"], forceUpdate: true }],
    ["init", {}],
  ]);
});

test("a request goes to its leader, which waits for the replicas as long as the client says", async () => {
  const { client, calls } = setup();
  expect(await client.produce(7, producerId, [])).toEqual([]);
  expect(calls).toEqual([
    ["connect", broker],
    ["api", "Produce"],
    ["produce", kafka.ProduceAcks.ALL, 5],
  ]);
});

test("a request fails with its connection, or with a broker that does not know it", async () => {
  const error = new Error("No connection");
  await expect(setup({ connection: error }).client.produce(7, producerId, [])).rejects.toBe(error);
  const unknown = setup({ api: error });
  await expect(unknown.client.produce(8, producerId, [])).rejects.toBe(error);
  expect(unknown.calls[0]).toEqual(["connect", undefined]);
});

test.each([
  [1_000, 1_000, 1_000, 0],
  [1_001, 1_000, 2_000, 1],
  [900, 1_000, 990, -10],
  [900, 1_000, 1_000, 0],
  [900, 1_000, 1_100, 0],
])(
  "a write that was sent at %d, appended at %d and answered at %d shows an error of %d ms",
  (sent, appended, answered, error) => {
    let now = 0;
    const clock = new BrokerClock(() => now);
    clock.note(sent, appended, answered);
    expect(clock.errorMs()).toBe(error);
    now = 59_999;
    expect(clock.errorMs()).toBe(error);
    now = 60_000;
    expect(clock.errorMs()).toBeUndefined();
  },
);
