import { afterEach, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { brokerSettings } from "../../src/backend/broker-settings.ts";
import { copyCatalog } from "../../src/backup/copy.ts";
import { exportStandalone, importStandalone } from "../../src/backup/migration.ts";
import {
  APPENDED_BYTES_MAX,
  appendAll,
  ledgerOptions,
  openStoppedCluster,
} from "../../src/backup/stopped-cluster.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { openOrderedTopic } from "../../src/cluster/ordered-log/ordered-topic.ts";
import { eventRecordCodec } from "../../src/event/record.ts";
import { catalogDirectory, prepareDataDirectory } from "../../src/first-start/data-directory.ts";
import { connectClients } from "../../src/kafka/client.ts";
import { LogUnavailable } from "../../src/log/event-log.ts";
import { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import type { Config } from "../../src/settings/keys.ts";
import { loadConfig } from "../../src/settings/reader.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { openView } from "../../src/store/lmdb/view.ts";
import { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import { settingsOf, withBrokers } from "../cluster/support.ts";
import { describeWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { quiet } from "../log/support.ts";

const directories: string[] = [];
afterEach(() => directories.splice(0).forEach(removeDirectory));

function newDirectory(): string {
  const directory = temporaryDirectory();
  directories.push(directory);
  return directory;
}

const largeRecord = {
  format: "json",
  type: "track",
  receivedAt: 1,
  sourceId: "s",
  clientAddress: "",
  messageId: undefined,
  sentAt: undefined,
  json: Buffer.alloc(250_000, 0x20),
} as const;
const largeBytes = Buffer.alloc(eventRecordCodec.bytesMax(largeRecord));

async function* largeEvents(count: number) {
  const bytes = largeBytes.subarray(0, eventRecordCodec.encode(largeRecord, largeBytes, 0));
  for (let n = 0; n < count; n++) yield { key: `0 ${n}`, receivedAt: 1, bytes };
}

test("a copy of large events waits for those that are not durable yet", async () => {
  let [bytes, most] = [0, 0];
  const durable = async (): Promise<void> => {
    bytes += largeBytes.length;
    most = Math.max(most, bytes);
    await Bun.sleep(1);
    bytes -= largeBytes.length;
  };
  const keys = await appendAll(largeEvents(100), () => ({ log: "0", done: durable() }));
  expect(keys.get("0")).toHaveLength(100);
  expect(most).toBeLessThan(APPENDED_BYTES_MAX + 2 * largeBytes.length);
});

test("a copy whose events are refused rejects after it has read more of them", async () => {
  const refused = appendAll(slowly(largeEvents(3)), () => ({
    log: "0",
    done: Promise.reject(new LogUnavailable("The disk failed")),
  }));
  expect(await refused.catch((error) => error)).toBeInstanceOf(LogUnavailable);
});

async function* slowly<T>(items: AsyncIterable<T>) {
  for await (const item of items) {
    await Bun.sleep(1);
    yield item;
  }
}

describeWith(brokersMissing)("a stopped cluster", () => {
  const { brokers } = withBrokers(1);
  const configOf = (name: string): Config =>
    loadConfig({
      ...{ data: join(newDirectory(), "data"), "cluster-name": name, "cluster-partitions": "1" },
      ...{ "cluster-kafka": settingsOf(brokers()).brokers.join(","), "cluster-replicas": "1" },
    });

  /** Does what a node does that starts: claims the ledger of the only partition. */
  async function runNode(config: Config): Promise<void> {
    const clients = await connectClients(brokerSettings(config));
    const name = `${config["cluster.name"]}.ledgers`;
    const ids = { get: () => undefined, put() {} };
    const [log] = await openOrderedTopic({
      ...{ clients, name, partitions: 1, replicas: 1, ids, logger: quiet },
    });
    const options = ledgerOptions(quiet);
    const local = openView({ path: join(newDirectory(), "ledger"), ...options });
    const ledger = new Ledger(new OrderedStore({ ...options, local, log: log! }), quiet);
    await ledger.claim("node", { onLost() {}, onReplaysChanged() {} });
    await ledger.close();
    await clients.close();
  }

  test("is not exported or imported into when a node has run partitions meanwhile", async () => {
    const config = configOf("claimed");
    await using stack = new AsyncDisposableStack();
    const cluster = await openStoppedCluster(config, quiet, stack);
    await cluster.expectNoNodeSince();
    await runNode(config);
    await expect(cluster.expectNoNodeSince()).rejects.toThrow(/Expected no node to run meanwhile/);
  }, 300_000);

  test("an import that fails leaves a directory that a single server starts in", async () => {
    const config = configOf("taken");
    prepareDataDirectory(config);
    const alone = await openCatalog({ directory: catalogDirectory(config), logger: quiet });
    await alone.workspaces.create("Main");
    await alone.close();
    const other = { ...config, data: join(newDirectory(), "data") };
    prepareDataDirectory(other);
    const theirs = await openCatalog({ directory: catalogDirectory(other), logger: quiet });
    await theirs.workspaces.create("Other");
    await theirs.close();
    await importStandalone(other, quiet);
    const before = readdirSync(config.data);
    await expect(importStandalone(config, quiet)).rejects.toThrow(/a cluster without data/);
    expect(readdirSync(config.data).filter((it) => it !== "lock")).toEqual(before);
  }, 300_000);

  test("an export that fails leaves nothing that looks like data", async () => {
    const config = { ...configOf("away"), "cluster.kafka": ["127.0.0.1:9"] };
    await expect(exportStandalone(config, quiet)).rejects.toThrow();
    for (const name of ["catalog", "events", "delivery", "cluster"]) {
      expect(existsSync(join(config.data, name))).toBe(false);
    }
  }, 300_000);
});

test("an import stops when a node has created a workspace meanwhile", async () => {
  const open = (name: string) =>
    openStore({ path: join(newDirectory(), name), name, logger: quiet });
  const [from, to] = [open("from"), open("to")];
  const [ours, theirs] = [from, to].map((it) => it.table<object, string>("workspaces"));
  await from.change(() => ours!.put("ours", {}));
  await to.change(() => theirs!.put("theirs", {}));
  await expect(copyCatalog(from, to, {})).rejects.toThrow(/has created a workspace/);
  expect([...theirs!.getKeys({})]).toEqual(["theirs"]);
  await Promise.all([from.close(), to.close()]);
});
