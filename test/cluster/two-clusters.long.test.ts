import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { connectClients } from "../../src/kafka/client.ts";
import { describeWith } from "../counterpart.ts";
import { pixelmillCommand } from "../e2e/command.ts";
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
import { freePorts } from "../free-ports.ts";
import { type Brokers, brokersMissing, startBrokers } from "./brokers.ts";
import { Link } from "./link.ts";
import { sharedBrokers } from "./shared-brokers.ts";

const TEST_MS_MAX = 600_000;
const OTHER_TOKEN = `pm_${"another1".repeat(5)}`;

describeWith(brokersMissing)("two clusters", () => {
  let brokers: Brokers;
  let others: Brokers;
  const directories: string[] = [];
  const newDirectory = () => {
    const directory = temporaryDirectory();
    directories.push(directory);
    return directory;
  };

  beforeAll(async () => {
    brokers = await sharedBrokers(1);
    others = await startBrokers(1, [], { clusterText: "another-cluster!" });
  }, TEST_MS_MAX);
  afterAll(async () => {
    await others?.stop();
    await brokers?.stop();
    directories.forEach(removeDirectory);
  }, TEST_MS_MAX);

  const flagsOf = (name: string, at: readonly Brokers[]) => [
    ...["--cluster-kafka", at.flatMap(({ addresses }) => addresses).join(",")],
    ...["--cluster-replicas", "1", "--cluster-partitions", "2", "--cluster-name", name],
  ];
  const start = (directory: string, name: string, at: readonly Brokers[], token?: string) =>
    startServer({
      directory,
      flags: flagsOf(name, at),
      ...(token && { environment: { PIXELMILL_ADMIN_TOKEN: token } }),
    });

  test(
    "on one Kafka under one name are refused: neither token, nor code, nor events are mixed",
    async () => {
      const sink = startSink();
      const node = await start(newDirectory(), "one-name", [brokers]);
      try {
        const { writeKey } = await route(node, { url: sink.url });
        const before = (await node.api("GET", "/v2/destinations")).body;
        const second = newDirectory();
        // A supervisor starts it again.
        for (let n = 0; n < 2; n++) {
          const refused = start(second, "one-name", [brokers], OTHER_TOKEN);
          await expect(refused).rejects.toThrow(
            /Expected the admin.token of the cluster one-name, whose nodes have another one/,
          );
        }
        const renamed = start(second, "other-name", [brokers], OTHER_TOKEN);
        await expect(renamed).rejects.toThrow(
          /Expected the cluster.name one-name, which the data directory .* belongs to/,
        );
        expect((await node.api("GET", "/v2/destinations")).body).toEqual(before);
        expect((await node.api("GET", "/v2/cluster")).body.nodes).toHaveLength(1);
        const query = { writeKey, userId: "u", event: "Seen" };
        expect((await pixel(node, "track", query)).status).toBe(200);
        await waitFor(() => sink.events.length === 1, "the event");

        const other = await start(newDirectory(), "other-name", [brokers], OTHER_TOKEN);
        try {
          // The second cluster does not know the token of the first.
          expect((await other.api("GET", "/v2/destinations")).status).toBe(401);
          expect((await pixel(other, "track", query)).status).toBe(401);
        } finally {
          await other.stop();
        }
      } finally {
        await node.stop();
        sink.stop();
      }
    },
    TEST_MS_MAX,
  );

  test(
    "on two Kafka clusters are kept apart: a node that names brokers of both, or moves to the other, does not start",
    async () => {
      const directory = newDirectory();
      const node = await start(directory, "moved", [brokers]);
      await node.stop();
      const twin = await start(newDirectory(), "moved", [others], OTHER_TOKEN);
      await twin.stop();
      await expect(start(directory, "moved", [others])).rejects.toThrow(
        /The topic moved.catalog that this node has used is gone: .* cluster.kafka names other brokers/,
      );
      await expect(start(directory, "moved", [brokers, others])).rejects.toThrow(
        "Expected the brokers of cluster.kafka to belong to one Kafka cluster",
      );
    },
    TEST_MS_MAX,
  );

  test(
    "are not mixed by an import into one whose nodes run under load: it ends, and both keep their data",
    async () => {
      const sink = startSink();
      const alone = await startServer({ directory: newDirectory() });
      await alone.api("POST", "/v2/sources", { name: "Alone", type: "http" });
      await alone.stop();
      const node = await start(newDirectory(), "busy", [brokers]);
      try {
        const { writeKey } = await route(node, { url: sink.url });
        const data = ["--data", join(alone.directory, "data")];
        const command = [...pixelmillCommand, "cluster", "import", ...data];
        const importing = Bun.spawn([...command, ...flagsOf("busy", [brokers])], {
          stderr: "pipe",
        });
        let sent = 0;
        while (importing.exitCode === null) {
          const query = {
            writeKey,
            userId: `u${sent % 5}`,
            event: "Seen",
            "properties.n": `${sent}`,
          };
          expect((await pixel(node, "track", query)).status).toBe(200);
          sent += 1;
        }
        expect(importing.exitCode).toBe(1);
        const said = await new Response(importing.stderr).text();
        expect(said).toContain(
          "Expected no node to run, but busy has 1; stop all nodes and repeat the command",
        );
        await waitFor(() => sink.events.length >= sent, "all events");
        expect(new Set(sink.events.map(({ properties }) => properties.n)).size).toBe(sent);
        const namesAt = async (server: Server) => {
          const { body } = await server.api("GET", "/v2/sources");
          return body.sources.map(({ name }: { name: string }) => name);
        };
        expect(await namesAt(node)).not.toContain("Alone");
        const again = await startServer({ directory: alone.directory });
        expect(await namesAt(again)).toEqual(["Alone"]);
        await again.stop();
      } finally {
        await node.stop();
        sink.stop();
      }
    },
    TEST_MS_MAX,
  );

  test(
    "a broker of another Kafka that answers later is named, and gets nothing",
    async () => {
      const [port] = (await freePorts(1)) as [number];
      const late = `127.0.0.1:${port}`;
      const clients = await connectClients({ brokers: [late, ...brokers.addresses] });
      const [hostname, far] = others.addresses[0]!.split(":") as [string, string];
      let link: Link | undefined;
      try {
        await clients.admin().listTopics();
        const at = { hostname: "127.0.0.1", port };
        link = await Link.open([{ at, to: { hostname, port: Number(far) } }]);
        await waitFor(() => clients.foreignBrokers().length > 0, "the broker to be named");
        const clusterId = Buffer.from("another-cluster!").toString("base64url");
        expect(clients.foreignBrokers()).toEqual([{ address: late, clusterId }]);
        expect(clients.unresponsiveBrokers()).toEqual([]);
        const admin = clients.admin();
        for (let n = 0; n < 10; n++) {
          await ensureTopic(admin, { name: `late-${n}`, partitions: 1, replicas: 1 });
        }
        const far0 = await connectClients({ brokers: others.addresses });
        const found = await far0.admin().listTopics();
        await far0.close();
        expect(found.filter((name) => name.startsWith("late-"))).toEqual([]);
      } finally {
        await link?.close();
        await clients.close();
      }
    },
    TEST_MS_MAX,
  );
});
