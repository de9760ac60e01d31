import { afterAll, beforeAll, expect, test } from "bun:test";
import { brokersMissing } from "../cluster/brokers.ts";
import type { LinkedBrokers } from "../cluster/linked-brokers.ts";
import { describeWith, testWith } from "../counterpart.ts";
import { judged } from "../crash/crash.ts";
import { Load } from "../crash/load.ts";
import type { Node } from "../crash/node.ts";
import { Site } from "../crash/site.ts";
import { waitFor } from "../e2e/server.ts";
import { fillDisk, makeSpace, mountMissing } from "../small-disk.ts";
import { NODE_DISK_BYTES } from "./faults.ts";

const CATALOG = "pixelmill.catalog";
/** Reads at each node while a broker is cut off, enough to find stale reads. */
const READS = 25;
/** Longest time until a node takes everything, far above what it needs. */
const TAKEN_MS_MAX = 120_000;
const TEST_MS_MAX = 420_000;
/** Acknowledged pixels, at least, that the test judges. */
const PIXELS_MIN = 300;

/** A short form of `npm run attack-cluster`. */
describeWith(brokersMissing)("three nodes that name three brokers in different orders", () => {
  let site: Site;
  let load: Load;
  let brokers: LinkedBrokers;

  beforeAll(async () => {
    site = await Site.open({
      ...{ nodes: 3, brokers: 3, hasLinks: true, nodeDiskBytes: NODE_DISK_BYTES },
      // Two brokers go on without the third one after this time instead of 30 s.
      brokerSettings: ["replica.lag.time.max.ms=10000"],
    });
    brokers = site.links!;
    load = new Load(site, { users: 12, pixelsPerSecond: 25 });
    await load.goesOn();
  }, TEST_MS_MAX);
  afterAll(() => site?.close(), TEST_MS_MAX);

  /** Waits until the other brokers have another leader of the catalog than the one cut off. */
  const elected = (cutOff: number) =>
    brokers.replacedLeaderOf(CATALOG, 0, (cutOff + 1) % 3, cutOff);
  /**
   * Waits until a change that began after the call was answered, and then for reads at each node.
   */
  async function readAtAll(): Promise<void> {
    const count = (kind: string, from: number, node?: Node) =>
      load.samples
        .slice(from)
        .filter((it) => it.kind === kind && (node === undefined || it.node === node.name));
    const begun = load.samples.length;
    const at = performance.now();
    await waitFor(
      () => count("write", begun).some((it) => it.status === 200 && it.startedAt > at),
      "a change to be answered",
    );
    const changed = load.samples.length;
    await waitFor(
      () => site.nodes.every((node) => count("read", changed, node).length >= READS),
      `${READS} reads at each node`,
    );
  }
  const everythingTaken = async (nodes: readonly Node[]) => {
    const times = await Promise.all(nodes.map((node) => load.taken(node, TAKEN_MS_MAX)));
    return times.map((time) => Object.keys(time).filter((name) => time[name] === -1));
  };

  test(
    "no read is stale while the catalog's leader is cut off from the other brokers",
    async () => {
      const leader = await brokers.agreedLeaderOf(CATALOG, 0);
      brokers.isolate(leader);
      try {
        await elected(leader);
        await readAtAll();
      } finally {
        brokers.heal();
      }
      await load.goesOn();
      expect(load.faults).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "every node takes pixels and changes while a broker is cut off from the other brokers",
    async () => {
      const leader = await brokers.agreedLeaderOf(CATALOG, 0);
      brokers.isolate(leader);
      try {
        await elected(leader);
        expect(await everythingTaken(site.nodes)).toEqual([[], [], []]);
      } finally {
        brokers.heal();
      }
      await load.goesOn();
    },
    TEST_MS_MAX,
  );

  test(
    "other nodes do the work of one that stops while the group coordinator is cut off",
    async () => {
      const [stopped, ...others] = site.nodes as [Node, Node, Node];
      await brokers.agreedLeaderOf(CATALOG, 0);
      brokers.isolate(await brokers.coordinator());
      try {
        await stopped.stop();
        await load.goesOn();
        expect(await everythingTaken(others)).toEqual([[], []]);
      } finally {
        brokers.heal();
        await stopped.start();
      }
      await load.goesOn();
      expect(load.faults).toEqual([]);
    },
    TEST_MS_MAX,
  );

  testWith(mountMissing)(
    "a node whose disk is full gives its partitions to others, and takes some once it has space",
    async () => {
      const [observer, full] = site.nodes as [Node, Node, Node];
      let id: string | undefined;
      await waitFor(async () => {
        id = (await full.api("GET", "/v2/cluster")).body?.node;
        return id !== undefined;
      }, "the node to answer with its id");
      const runs = async () => {
        const { partitions } = (await observer.api("GET", "/v2/cluster")).body ?? {};
        const nodes: (string | undefined)[] = partitions?.map((it: any) => it.node) ?? [];
        return nodes.length > 0 && nodes.every((it) => it !== undefined)
          ? nodes.filter((it) => it === id).length
          : undefined;
      };
      await waitFor(async () => ((await runs()) ?? 0) > 0, "each node to run partitions");
      fillDisk(full.directory);
      try {
        await waitFor(async () => (await runs()) === 0, "others to run its partitions");
        await load.goesOn();
      } finally {
        makeSpace(full.directory);
      }
      await waitFor(async () => ((await runs()) ?? 0) > 0, "the node to run partitions again");
      await load.goesOn();
    },
    TEST_MS_MAX,
  );

  test(
    "each acknowledged pixel has arrived, in the order of its user and under one messageId",
    async () => {
      await waitFor(() => load.pixels.acknowledged >= PIXELS_MIN, "enough pixels");
      await load.stop();
      await site.drain();
      await load.readEverywhere();
      const report = await judged(site, load);
      expect(report.broken).toEqual([]);
      expect(report.verdict.delivered).toBeGreaterThanOrEqual(PIXELS_MIN);
    },
    TEST_MS_MAX,
  );
});
