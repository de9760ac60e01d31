import { expect, test } from "bun:test";
import { awaitBrokers } from "../../src/cluster/topics/await-brokers.ts";
import { StartError } from "../../src/errors.ts";
import { type BrokerSettings, connectClients } from "../../src/kafka/client.ts";
import type { ForeignBroker } from "../../src/kafka/leader-epochs.ts";
import { describeWith } from "../counterpart.ts";
import { brokersMissing } from "./brokers.ts";
import { settingsOf, withBrokers } from "./support.ts";

/** The error with which a node with these settings does not start; undefined if it continues. */
async function startErrorOf(settings: BrokerSettings, refusedMsMax?: number): Promise<unknown> {
  const clients = await connectClients(settings);
  try {
    return await awaitBrokers(clients, refusedMsMax).catch((error) => error);
  } finally {
    await clients.close();
  }
}

/** A bound that no test reaches: what ends before it ends on evidence, not on time. */
const NEVER_MS = 100_000_000;

test("a start ends when all brokers refuse connections for a while", async () => {
  const error = await startErrorOf({ brokers: ["127.0.0.1:1"] }, 500);
  expect(error).toBeInstanceOf(StartError);
  expect(String(error)).toContain("connect ECONNREFUSED 127.0.0.1:1");
});

test("a start continues while a broker is silent or one answers", async () => {
  const refused = { address: "a:1", error: new Error("connect ECONNREFUSED"), isProbed: true };
  const silent = { address: "b:2", error: undefined, isProbed: false };
  const clients = (isEmpty: boolean, failures: (typeof refused | typeof silent)[]) => {
    return {
      view: { isEmpty, clusterId: "A" },
      lastProbes: () => failures,
      foreignBrokers: () => [],
    };
  };
  await awaitBrokers(clients(true, [refused, silent]), 100);
  await awaitBrokers(clients(false, [refused]), 100);
});

test("a start ends when the brokers belong to two Kafka clusters, also when the second answers later", async () => {
  const foreign: ForeignBroker[] = [];
  let isProbed = false;
  const starting = awaitBrokers({
    view: { isEmpty: false, clusterId: "A" },
    lastProbes: () => [{ address: "b:2", error: undefined, isProbed }],
    foreignBrokers: () => foreign,
  });
  await Bun.sleep(1);
  foreign.push({ address: "b:2", clusterId: "B" });
  isProbed = true;
  await expect(starting).rejects.toThrow(
    "Expected the brokers of cluster.kafka to belong to one Kafka cluster, which is A by the first answer, but b:2 belongs to B",
  );
});

describeWith(brokersMissing)("a broker without SASL and TLS", () => {
  const { brokers } = withBrokers(1);

  test("ends the start of a node that uses them, on its first answer, with what to do", async () => {
    const settings = settingsOf(brokers());
    const sasl = { mechanism: "PLAIN", user: "u", password: "p" } as const;
    const address = brokers().addresses[0];
    const withSasl = await startErrorOf({ ...settings, sasl }, NEVER_MS);
    expect(withSasl).toBeInstanceOf(StartError);
    expect(String(withSasl)).toContain(`broker ${address} does not use SASL: unset cluster.sasl`);
    const withTls = await startErrorOf({ ...settings, tls: {} }, NEVER_MS);
    expect(String(withTls)).toContain(`TLS to broker ${address} fails: check cluster.tls`);
    expect(await startErrorOf(settings, NEVER_MS)).toBeUndefined();
  }, 300_000);
});
