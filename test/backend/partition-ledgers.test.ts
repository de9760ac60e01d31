import { expect, test } from "bun:test";
import { PartitionLedgers } from "../../src/backend/partition-ledgers.ts";
import type { PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import type { KafkaClients } from "../../src/kafka/client.ts";
import type { Config } from "../../src/settings/keys.ts";
import { quiet } from "../log/support.ts";

function ledgersOf(admin: () => unknown): PartitionLedgers {
  return new PartitionLedgers({
    topic: {
      clients: { admin } as unknown as KafkaClients,
      name: "p.ledgers",
      replicas: 1,
      logger: quiet,
    },
    config: { data: "/nowhere" } as Config,
    logs: { readers: new Map([["k0", {}]]) } as unknown as PartitionLogs,
    onNewer() {},
  });
}

test("attempts to open ledgers that fail share one client of the brokers", async () => {
  let admins = 0;
  let attempts = 0;
  const admin = () => {
    admins++;
    return {
      async listTopics() {
        attempts++;
        throw new Error("The topic cannot be read");
      },
    };
  };
  const ledgers = ledgersOf(admin);
  for (let time = 0; time < 3; time++) {
    await expect(ledgers.store(0)).rejects.toThrow("The topic cannot be read");
  }
  expect([attempts, admins]).toEqual([3, 1]);
  await ledgers.close();
});

test("calls that come while ledgers are opened wait for the attempt in progress, and make no further ones", async () => {
  const failure = Promise.withResolvers<never>();
  let attempts = 0;
  const listTopics = () => {
    attempts++;
    return failure.promise;
  };
  const ledgers = ledgersOf(() => ({ listTopics }));
  const calls = [0, 0, 0].map((partition) => ledgers.store(partition));
  await Promise.resolve();
  const closed = ledgers.close();
  failure.reject(new Error("No partition has a leader"));
  expect(await Promise.allSettled(calls)).toMatchObject([
    { status: "rejected" },
    { status: "rejected" },
    { status: "rejected" },
  ]);
  await closed;
  expect(attempts).toBe(1);
});
