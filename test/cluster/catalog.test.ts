import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCatalog } from "../../src/catalog/open.ts";
import { openOrderedTopic } from "../../src/cluster/ordered-log/ordered-topic.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { connectClients, type KafkaClients } from "../../src/kafka/client.ts";
import { contradictions } from "../catalog/consistency.ts";
import { runTriggers, tight } from "../catalog/on-nodes.ts";
import { describeWith } from "../counterpart.ts";
import { quiet } from "../log/support.ts";
import { brokersMissing } from "./brokers.ts";
import { settingsOf, withBrokers } from "./support.ts";

const root = mkdtempSync(join(tmpdir(), "pixelmill-catalogs-"));
afterAll(() => rmSync(root, { recursive: true }));

const AT_ONCE = 64;

describeWith(brokersMissing)("catalogs on a topic of Kafka", () => {
  const { brokers } = withBrokers(1);

  test(`are what the model says after ${AT_ONCE} sequences of triggers at once, while the log is rewritten`, async () => {
    const all: KafkaClients[] = [];
    const directories = ["a", "b", "c"].map((name) => join(root, name));
    const open = async (directory: string) => {
      const clients = await connectClients(settingsOf(brokers()));
      all.push(clients);
      const options = { clients, name: "catalog", partitions: 1, replicas: 1, logger: quiet };
      const [order] = await openOrderedTopic(options);
      return openCatalog({ directory, logger: quiet, order: order!, bounds: tight });
    };
    const nodes = await Promise.all(directories.map(open));
    await runTriggers(nodes, AT_ONCE, 1);
    await Promise.all(nodes.map((node) => node.current()));
    const fetcher = new Fetcher({ consumer: all[0]!.fetchConsumer(), topic: "catalog", waitMs: 0 });
    // A read deletes what a rewriting has replaced, once that was `keptMs` ago.
    while ((await fetcher.offsets("first"))[0] === 0n) {
      await Promise.all(nodes.map((node) => node.current()));
    }
    // One that begins at the last rewriting has what all others have.
    const late = join(root, "late");
    nodes.push(await open(late));
    const ids = nodes.map((node) => node.workspaces.list().map(({ id }) => id));
    expect(ids[0]).toHaveLength(AT_ONCE);
    for (const some of ids) expect(some).toEqual(ids[0]!);
    await Promise.all(nodes.map((node) => node.close()));
    for (const directory of [...directories, late]) {
      expect(await contradictions(directory)).toEqual([]);
    }
    await Promise.all(all.map((clients) => clients.close()));
  }, 300_000);
});
