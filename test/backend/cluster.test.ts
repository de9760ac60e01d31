import { afterEach, expect, test } from "bun:test";
import type { StartContext } from "../../src/backend/backend.ts";
import { openCluster } from "../../src/backend/cluster.ts";
import { firstWorkspace } from "../../src/first-start/first-workspace.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { StartSteps } from "../../src/observe/start-steps.ts";
import { LiveSettings } from "../../src/settings/live-settings.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { encodeChangeSet, SHARED_FORMAT } from "../../src/store/ordered/change-set.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import { withBrokers } from "../cluster/support.ts";
import { describeWith } from "../counterpart.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { metricValue, quiet } from "../log/support.ts";
import { decode, eventOf } from "../pipeline/doubles.ts";
import { until } from "../until.ts";

const TEST_MS_MAX = 120_000;

describeWith(brokersMissing)("a node of a cluster", () => {
  const { brokers, clients } = withBrokers(1);
  const ends: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  }, TEST_MS_MAX);

  const newDirectory = () => {
    const directory = temporaryDirectory();
    ends.push(() => removeDirectory(directory));
    return directory;
  };

  /** Opens the storage of a node of a cluster with three partitions, which ends with the test. */
  async function open(name: string, more: Record<string, string> = {}) {
    const settings = new LiveSettings(() => {
      const kafka = brokers().addresses.join(",");
      const cluster = { "cluster-kafka": kafka, "cluster-replicas": "1", "cluster-name": name };
      const flags = { data: newDirectory(), "cluster-partitions": "3", ...cluster, ...more };
      return readSettings(flags, {});
    });
    const stack = new AsyncDisposableStack();
    ends.push(() => stack.disposeAsync());
    const metrics = createMetrics();
    const stops: string[] = [];
    const context: StartContext = {
      ...{ config: settings.config, settings, logger: quiet, metrics, stack },
      steps: new StartSteps(quiet),
      requestStop: (reason) => void stops.push(reason),
    };
    const backend = await openCluster(context);
    const startPipeline = () =>
      backend.startPipeline({
        ...{ sandbox: undefined as never, kinds: new Map(), decode, eventOf },
        retryWindowMs: 3_600_000,
      });
    return { backend, startPipeline, metrics, stops, partitions: backend.others!.running! };
  }

  test(
    "runs all partitions once it has joined, and none after it has left",
    async () => {
      const { backend, startPipeline, metrics, partitions } = await open("alone");
      expect(backend.checks()).toEqual({
        delivery: { ok: true },
        cluster: { ok: true, message: "This node has not joined the others yet" },
      });
      expect(backend.figures.share()).toBe(0);
      const pipeline = startPipeline();
      ends.push(() => pipeline.close());
      const lags = [0, 1, 2].map((partition) => ({ partition, lagEvents: 0 }));
      expect(await backend.nodes!()).toMatchObject({ name: "alone", partitions: lags });

      backend.join("http://control.example", () => undefined);
      await until(() => partitions().length === 3);
      expect(backend.checks().cluster).toEqual({
        ok: true,
        message: "This node runs partitions 0, 1, 2",
      });
      expect(backend.figures.share()).toBe(1);
      expect(await metricValue(metrics, "pixelmill_cluster_partitions")).toBe(3);
      expect(await metricValue(metrics, "pixelmill_cluster_partitions_stopped")).toBe(0);
      expect(await metricValue(metrics, "pixelmill_cluster_troubles")).toBe(0);
      expect(backend.warnings()).toEqual([]);
      expect(await pipeline.logEnds()).toEqual({ k0: 0, k1: 0, k2: 0 });
      const { node, nodes, partitions: owned } = await backend.nodes!();
      expect(nodes).toMatchObject([
        { id: node, controlPlaneUrl: "http://control.example", partitions: [0, 1, 2] },
      ]);
      expect(owned).toEqual(lags.map((it) => ({ ...it, node })));

      await backend.leave();
      expect(partitions()).toEqual([]);
      expect(backend.checks().cluster!.message).toBe("This node runs no partition");
    },
    TEST_MS_MAX,
  );

  test(
    "names a deleted topic, and is not ready if the topic is vital",
    async () => {
      const { backend } = await open("lossy");
      await clients()
        .admin()
        .deleteTopics({ topics: ["lossy.nodes"] });
      const nodes = "The topic lossy.nodes does not exist: restart a node, which creates it";
      await until(() => backend.warnings().some((it) => it.startsWith(nodes)));
      expect(backend.checks().cluster!.ok).toBe(true);
      await clients()
        .admin()
        .deleteTopics({ topics: ["lossy.ledgers"] });
      await until(() => !backend.checks().cluster!.ok);
      expect(backend.checks().cluster!.message).toStartWith(
        "The topic lossy.ledgers does not exist: restore it, or stop all nodes, remove ",
      );
    },
    TEST_MS_MAX,
  );

  test(
    "is refused with another admin.token if it is new, since a second cluster may have the same name",
    async () => {
      const [first, second] = ["1", "2"].map((digit) => `pm_${digit.repeat(32)}`);
      const data = newDirectory();
      const { backend } = await open("one-name", { data });
      await firstWorkspace(backend.catalog, {
        ...{ name: "Main", adminToken: first, print() {} },
        unprintedToken: { get: () => false, set() {} },
      });
      await expect(open("one-name", { "admin-token": second! })).rejects.toThrow(
        "Expected the admin.token of the cluster one-name",
      );
      await open("one-name", { "admin-token": first! });
      await ends.pop()!();
      await open("one-name", { data, "admin-token": second! });
    },
    TEST_MS_MAX,
  );

  test(
    "asks for a stop at an entry of the catalog by a newer pixelmill",
    async () => {
      const { stops } = await open("upgraded");
      const producer = new IdempotentProducer({
        ...{ producer: clients().producer(), topic: "upgraded.catalog" },
      });
      const set = { author: "newer", number: 0, base: 0, writes: [] };
      const [entry] = encodeChangeSet(set, SHARED_FORMAT + 1);
      await producer.send(0, () => Buffer.from(entry!));
      await until(() => stops.length > 0);
      expect(stops[0]).toContain("expected entries of format 1 at most, got format 2");
    },
    TEST_MS_MAX,
  );
});
