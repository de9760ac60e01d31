import { expect, test } from "bun:test";
import type { BaseOptions } from "@platformatic/kafka";
import { BrokerHealth } from "../../src/kafka/broker-health.ts";
import type { KafkaLibrary } from "../../src/kafka/library.ts";
import { until } from "../until.ts";

/** Ids of the brokers that run. The broker with id `n` listens on port `n`. */
const running = new Set<number>();

const answer = () => ({
  clusterId: "c",
  controllerId: -1,
  topics: [],
  brokers: [...running].map((nodeId) => ({ nodeId, host: "b", port: nodeId })),
});

/** A client that asks one broker for metadata. */
class Asker {
  readonly connections = {};
  readonly #id: number;

  constructor({ bootstrapBrokers: [broker] }: { bootstrapBrokers: (string | { port: number })[] }) {
    this.#id = typeof broker === "string" ? Number(broker.split(":")[1]) : broker!.port;
  }

  connect(done: (error: Error | null) => void): void {
    done(running.has(this.#id) ? null : new Error("Refused"));
  }

  api(_: string, done: (error: null, api: unknown) => void): void {
    done(null, (...args: unknown[]) => (args.at(-1) as typeof done)(null, answer()));
  }

  async close(): Promise<void> {}
}

const kafka = {
  Base: Asker,
  kGetBootstrapConnection: "connect",
  kGetApi: "api",
  ResponseError: Error,
  NetworkError: Error,
  MultipleErrors: Error,
} as unknown as KafkaLibrary;

test("a client that names all brokers it may probe follows the cluster when each of them is replaced", async () => {
  const ids = [1, 2, 3, 4, 5];
  for (const id of ids) running.add(id);
  const options = { bootstrapBrokers: ids.map((id) => `b:${id}`) };
  const health = new BrokerHealth(kafka, options as BaseOptions);
  const probed = () => health.lastProbes().map(({ address }) => Number(address.slice(2)));
  const knows = (id: number) => health.view.brokers.has(id);
  const comesTo = (isSo: () => boolean) =>
    until(async () => {
      await health.refresh([]);
      return isSo();
    });
  await comesTo(() => knows(5));
  for (const id of ids) {
    running.add(10 + id);
    await comesTo(() => knows(10 + id));
    running.delete(id);
    await comesTo(() => !knows(id) && probed().includes(10 + id));
  }
  expect(health.view.isEmpty).toBe(false);
  // Further ones take the places of those that are not in the settings.
  for (const id of ids) {
    running.add(20 + id);
    running.delete(10 + id);
    await comesTo(() => probed().includes(20 + id));
  }
  expect(probed().toSorted((a, b) => a - b)).toEqual([...ids, 21, 22, 23, 24, 25]);
  running.clear();
  await health.close();
});
