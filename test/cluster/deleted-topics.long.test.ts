import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectClients } from "../../src/kafka/client.ts";
import { describeWith } from "../counterpart.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { type Brokers, brokersMissing } from "./brokers.ts";
import { sharedBrokers } from "./shared-brokers.ts";

const TEST_MS_MAX = 600_000;

describeWith(brokersMissing)("under two nodes that take pixels", () => {
  let brokers: Brokers;
  const directories: string[] = [];

  beforeAll(async () => {
    brokers = await sharedBrokers(1);
  }, TEST_MS_MAX);
  afterAll(async () => {
    await brokers?.stop();
    directories.forEach(removeDirectory);
  }, TEST_MS_MAX);

  const start = (name: string) => {
    const directory = temporaryDirectory();
    directories.push(directory);
    const kafka = brokers.addresses.join(",");
    const flags = ["--cluster-kafka", kafka, "--cluster-replicas", "1", "--cluster-name", name];
    return startServer({ directory, flags: [...flags, "--cluster-partitions", "2"] });
  };

  /** Sends pixels until it is stopped; resolves then with the ids of those that were accepted. */
  function load(nodes: readonly Server[], writeKey: string) {
    const accepted: string[] = [];
    let isOver = false;
    const sending = (async () => {
      for (let n = 0; !isOver; n++) {
        const query = { writeKey, userId: `user-${n % 8}`, event: "Seen", "properties.n": `${n}` };
        const { status } = await pixel(nodes[n % nodes.length]!, "track", query);
        if (status === 200) accepted.push(`${n}`);
        await Bun.sleep(20);
      }
    })();
    return {
      accepted: () => accepted.length,
      async stop() {
        isOver = true;
        await sending;
        return accepted;
      },
    };
  }

  async function deleteTopic(name: string): Promise<void> {
    const clients = await connectClients({ brokers: brokers.addresses });
    await clients.admin().deleteTopics({ topics: [name] });
    await clients.close();
  }

  /** Stops a node, and waits until the other one says why it cannot run the partition. */
  async function expectStopped(nodes: readonly Server[]): Promise<void> {
    const [left, stopping] = nodes as [Server, Server];
    await stopping.stop();
    const { body } = await waitFor(async () => {
      const answer = await left.api("GET", "/v2/cluster");
      const isNamed = ({ stopped }: { stopped?: string }) => stopped !== undefined;
      return answer.body.partitions?.filter(isNamed).length === 1 && answer;
    }, "the partition that moved to be named");
    const { partition, stopped } = body.partitions.find((it: object) => "stopped" in it);
    const named = `Partition ${partition} is assigned to this node, but not running here: ${stopped}`;
    expect(body.problems).toContain(named);
    expect(body.nodes[0].problems).toContain(named);
    const metrics = await fetch(`${left.controlPlane}/metrics`).then((it) => it.text());
    expect(metrics).toMatch(/^pixelmill_cluster_partitions_stopped\{.*\} 1$/m);
    const { checks } = (await left.api("GET", "/ready")).body;
    expect(checks.cluster.ok).toBeFalse();
  }

  for (const topic of ["catalog", "ledgers"]) {
    test(
      `the deleted topic ${topic} is named by every node, which changes no more and keeps what it has`,
      async () => {
        const cluster = `without-${topic}`;
        const nodes = await Promise.all([start(cluster), start(cluster)]);
        const sink = startSink();
        try {
          const { writeKey } = await route(nodes[0]!, { url: sink.url });
          await nodes[1]!.api("GET", "/v2/destinations");
          // A partition that moves when the ledgers are deleted cannot start again.
          const isSplit = async () => {
            const { body } = await nodes[1]!.api("GET", "/v2/cluster");
            return (
              body.nodes.filter((it: { partitions: number[] }) => it.partitions.length === 1)
                .length === 2
            );
          };
          await waitFor(isSplit, "each node to have a partition");
          const pixels = load(nodes, writeKey);
          const users = () => new Set(sink.events.map(({ userId }) => userId)).size;
          await waitFor(() => sink.events.length > 20 && users() === 8, "events of each user");
          const workspaces = await Promise.all(
            nodes.map((node) => node.api("GET", "/v2/workspace")),
          );

          await deleteTopic(`${cluster}.${topic}`);
          const named = new RegExp(`The topic ${cluster}\\.${topic} does not exist: restore it`);
          for (const node of nodes) {
            const body = await waitFor(async () => {
              const { status, body } = await node.api("GET", "/ready");
              return status === 503 && named.test(body.checks.cluster.message) ? body : undefined;
            }, "the node to name the topic");
            expect(body.checks.cluster.ok).toBeFalse();
          }
          const change = (node: Server) =>
            node.api("POST", "/v2/sources", { name: "S", type: "http" });
          if (topic === "catalog") {
            for (const node of nodes) expect((await change(node)).status).toBe(503);
          } else {
            for (const node of nodes) {
              expect((await node.api("GET", "/v2/dead-letters")).status).toBe(503);
            }
          }
          // Pixels are still accepted, and delivered by the code and connections that are known.
          const before = pixels.accepted();
          await waitFor(() => pixels.accepted() > before + 20, "further pixels to be accepted");
          const accepted = await pixels.stop();
          const delivered = () => new Set(sink.events.map((it) => String(it.properties.n)));
          await waitFor(() => accepted.every((n) => delivered().has(n)), "all to be delivered");
          for (const [at, node] of nodes.entries()) {
            expect(await fetch(`${node.controlPlane}/health`).then((it) => it.status)).toBe(200);
            if (topic === "ledgers") {
              expect(await node.api("GET", "/v2/workspace")).toEqual(workspaces[at]!);
            }
          }
          if (topic === "ledgers") await expectStopped(nodes);
        } finally {
          await Promise.all(nodes.map((node) => node.stop()));
          sink.stop();
        }
        // A node's view is not continued with an empty topic.
        const kafka = brokers.addresses.join(",");
        const flags = [
          "--cluster-kafka",
          kafka,
          "--cluster-replicas",
          "1",
          "--cluster-name",
          cluster,
        ];
        const again = startServer({ directory: nodes[0]!.directory, flags });
        await expect(again).rejects.toThrow(
          `The topic ${cluster}.${topic} that this node has used is gone`,
        );
      },
      TEST_MS_MAX,
    );
  }
});
