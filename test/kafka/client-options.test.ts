import { expect, test } from "bun:test";
import type { Base } from "@platformatic/kafka";
import { type BrokerSettings, connectClients, REQUEST_MS_MAX } from "../../src/kafka/client.ts";
import { loadKafkaLibrary } from "../../src/kafka/library.ts";

const kafka = await loadKafkaLibrary();
const brokers = ["127.0.0.1:1", "127.0.0.1:2"];

/** The options of the clients that are made for these settings. */
async function optionsOf(settings: Partial<BrokerSettings>) {
  const clients = await connectClients({ brokers, ...settings });
  const of = (client: object) =>
    (client as unknown as Record<symbol, Record<string, unknown>>)[kafka.kOptions as symbol]!;
  try {
    return {
      admin: of(clients.admin()),
      fetch: of(clients.fetchConsumer()),
      group: of(clients.groupConsumer({ groupId: "g", sessionTimeout: 7_000 })),
    };
  } finally {
    await clients.close();
  }
}

test("clients try a request for longer than a cluster needs to replace a leader", async () => {
  const { admin } = await optionsOf({});
  expect(admin).toMatchObject({
    ...{ clientId: "pixelmill", bootstrapBrokers: brokers, retries: 20, retryDelay: 250 },
    ...{ timeout: REQUEST_MS_MAX, connectTimeout: REQUEST_MS_MAX },
    requestTimeout: 2 * REQUEST_MS_MAX,
  });
  expect(admin.tls).toBeUndefined();
  expect(admin.sasl).toBeUndefined();
});

test("clients check the certificates of brokers, and sign in as the user of the settings", async () => {
  const { admin, fetch } = await optionsOf({
    tls: { ca: "authorities" },
    sasl: { mechanism: "SCRAM-SHA-256", user: "u", password: "p" },
  });
  for (const options of [admin, fetch]) {
    expect(options.tls).toEqual({ ca: "authorities", rejectUnauthorized: true });
    expect(options.sasl).toEqual({ mechanism: "SCRAM-SHA-256", username: "u", password: "p" });
  }
});

test("a consumer that fetches does not retry, and a member of a group gives up its partitions in turn", async () => {
  const { fetch, group } = await optionsOf({});
  expect(fetch).toMatchObject({ groupId: "pixelmill", retries: 0, autocommit: false });
  expect(group).toMatchObject({
    ...{ groupId: "g", sessionTimeout: 7_000, requestTimeout: 30_000, retries: 3 },
    ...{ autocommit: false, protocols: [{ name: "cooperative-sticky", version: 3 }] },
  });
});

test("clients without brokers say so, and are closed together", async () => {
  const clients = await connectClients({ brokers });
  const admin: Base = clients.admin();
  expect([clients.isOpen(), clients.view.isEmpty, clients.clockErrorMs()]).toEqual([
    ...[true, true, undefined],
  ]);
  await expect(admin.metadata({ topics: [], retries: 0 })).rejects.toThrow();
  expect(clients.unresponsiveBrokers()).toEqual(brokers);
  expect(clients.unresponsiveBrokers(3_600_000)).toEqual([]);
  expect([clients.outdatedBrokers(), clients.foreignBrokers()]).toEqual([[], []]);
  expect(clients.lastProbes().map(({ address }) => address)).toEqual(brokers);
  expect(clients.lastProbes().every(({ error, isProbed }) => error && isProbed)).toBe(true);
  await clients.close();
  expect([clients.isOpen(), admin.closed]).toEqual([false, true]);
});
