/**
 * `bun bench/cluster-nodes.ts [EVENTS] [ROUNDS] [CONNECTIONS] [ONLY]`: measures the CPU cost of an event
 * from the pixel, through a JavaScript transformation, to a webhook with batches of 100: on one
 * machine with its disk, and on one and three nodes with three Kafka brokers, all started here. CPU
 * is that of all pixelmill processes; brokers, load generator and receiver share the machine.
 * Each case runs beside one machine with its disk, in alternating rounds, and no other server runs
 * then, because the timers of a server at rest take CPU from the rounds of others. Then measures
 * the latency from pixel to receiver at an even rate.
 *
 * Three machines with disks of their own and a third of the load each are the control for three
 * nodes: they have three times the JIT compilation and idle work, and smaller batches, but no
 * cluster. The floor is the least that a node can do with these brokers: processes that take
 * pixels, produce, consume and send with a plain Kafka library (cluster-floor.ts), and beside it
 * the same processes without Kafka. `compiled` is without the JIT compilers, whose work ends in a
 * server that runs longer. `ONLY` has the names of the cases to run, separated by semicolons.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Admin } from "@platformatic/kafka";
import { startBrokers } from "../test/cluster/brokers.ts";
import { removeDirectory, type Server, startServer, waitFor } from "../test/e2e/server.ts";
import { boundCommand } from "../test/shared.ts";
import { type CpuByPart, cpuBetween, cpuByPart } from "./cpu.ts";
import { median } from "./load.ts";
import { cases, code, library, pixelOf } from "./pipeline-cases.ts";
import { report, round2 } from "./report.ts";

/** With few connections, they mostly wait for brokers, and produce requests are small. */
const [events = "20000", rounds = "3", connections = "768", only] = process.argv.slice(2);
const USERS = 5_000;
const EVEN = { rate: 150, seconds: 6 };
const one = cases.find(({ name }) => name === "webhook by 100, JavaScript")!;
const executable = resolve("dist/pixelmill");
const command = existsSync(executable) ? { command: [executable] } : {};

interface Node {
  pid: number;
  dataPlane: string;
  stop(): Promise<unknown>;
}

interface Site {
  name: string;
  nodes: Node[];
  /** URL path and query of a pixel, for each node. */
  pixels: string[];
  sink: string;
  stop(): Promise<unknown>;
}

const lineOf = async (child: Bun.Subprocess<"ignore", "pipe">) =>
  new TextDecoder().decode((await child.stdout.getReader().read()).value).trim();

async function startSink() {
  const script = `${import.meta.dir}/pipeline-sink.ts`;
  const child = Bun.spawn([...boundCommand, process.execPath, script], { stdout: "pipe" });
  return { url: `http://127.0.0.1:${await lineOf(child)}/`, kill: () => child.kill() };
}

const ok = async (server: Server, path: string, body: unknown) => {
  const answer = await server.api("POST", path, body);
  if (answer.status > 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
};

async function open(name: string, count: number, flags: string[], isCluster = true): Promise<Site> {
  const nodes: Server[] = [];
  for (let n = 0; n < count; n++) nodes.push(await startServer({ ...command, flags }));
  const sink = await startSink();
  const configured = isCluster ? nodes.slice(0, 1) : nodes;
  const pixels = await Promise.all(configured.map((it) => configure(it, name, sink.url)));
  if (isCluster) {
    await waitFor(async () => {
      const { body } = await nodes[0]!.api("GET", "/v2/cluster");
      const busy = body.nodes.filter((it: any) => it.partitions.length > 0);
      return count === 1 || busy.length === count;
    }, "the nodes to share the partitions");
  }
  const stop = async () => {
    sink.kill();
    await Promise.all(nodes.map((node) => node.stop()));
    for (const { directory } of nodes) removeDirectory(directory);
  };
  const pixelFor = nodes.map((_, n) => pixels[n] ?? pixels[0]!);
  return { name, nodes, pixels: pixelFor, sink: sink.url, stop };
}

/**
 * Starts processes of the floor, which share a topic with as many replicas as the cluster's, or use
 * no topic.
 */
async function openFloor(name: string, count: number, topic?: string): Promise<Site> {
  const admin = new Admin({ clientId: "floor", bootstrapBrokers: brokers.addresses });
  const configs = [{ name: "min.insync.replicas", value: "2" }];
  const topics = topic === undefined ? [] : [topic];
  if (topic !== undefined) {
    await admin.createTopics({ topics, partitions: 12, replicas: 3, configs });
  }
  await admin.close();
  const sink = await startSink();
  const script = `${import.meta.dir}/cluster-floor.ts`;
  const argv = [process.execPath, script, sink.url, brokers.addresses.join(","), ...topics];
  const nodes = await Promise.all(
    Array.from({ length: count }, async () => {
      const child = Bun.spawn([...boundCommand, ...argv], { stdout: "pipe" });
      const dataPlane = `http://127.0.0.1:${await lineOf(child)}`;
      return { pid: child.pid, dataPlane, stop: async () => child.kill() };
    }),
  );
  const stop = async () => {
    sink.kill();
    for (const node of nodes) await node.stop();
  };
  return { name, nodes, pixels: nodes.map(() => pixelOf("key", one)), sink: sink.url, stop };
}

/** Creates a source, a destination at `url` and code between them; resolves with a pixel's path. */
async function configure(server: Server, name: string, url: string): Promise<string> {
  const kit = { name: "Shop kit", importName: "shopKit", language: "javascript", code: library };
  await ok(server, "/libraries?publish=true", kit);
  const { source } = await ok(server, "/v2/sources", { name, type: "http" });
  const config = { webhookUrl: url, batchSize: 100 };
  const { destination } = await ok(server, "/v2/destinations", { name, type: "webhook", config });
  await ok(server, "/v2/connections", { sourceId: source.id, destinationId: destination.id });
  const linked = { name, code, language: "javascript", destinationIds: [destination.id] };
  await ok(server, "/transformations?publish=true", linked);
  return pixelOf(source.writeKey, one);
}

const sum = (all: number[]) => all.reduce((one, other) => one + other, 0);

/** Sends `count` pixels, spread over the nodes, and waits until the receiver has all of them. */
async function run({ nodes, pixels, sink }: Site, count: number, rate: number) {
  await fetch(sink, { method: "DELETE" });
  const cpu = () => nodes.map(({ pid }) => cpuByPart(pid));
  const before = cpu();
  const share = Math.ceil(count / nodes.length);
  const loads = nodes.map(({ dataPlane }, node) => {
    const argv = [
      dataPlane + pixels[node],
      share,
      rate / nodes.length,
      Number(connections) / nodes.length,
      USERS,
    ];
    const child = Bun.spawn(
      [process.execPath, `${import.meta.dir}/pixels.ts`, ...argv.map(String)],
      { stdout: "ignore" },
    );
    return child.exited;
  });
  await Promise.all(loads);
  const read = async () => (await (await fetch(sink)).json()) as Record<string, number>;
  await waitFor(async () => (await read()).events! >= share * nodes.length || undefined, "all");
  await Bun.sleep(300);
  const { p50, p99 } = await read();
  const spent = cpu().map((after, node) => cpuBetween(before[node]!, after));
  const perEvent = (part: keyof CpuByPart) =>
    sum(spent.map((it) => it[part])) / share / nodes.length;
  const [server, ingest, guests] = [perEvent("server"), perEvent("ingest"), perEvent("guests")];
  const all = server + ingest + guests;
  const compiled = all - perEvent("compilers");
  return { server, ingest, guests, perCpuSecond: 1e6 / all, compiled: 1e6 / compiled, p50, p99 };
}

const brokers = await startBrokers(3);
const cluster = (name: string) => [
  ...["--cluster-kafka", brokers.addresses.join(","), "--cluster-name", name],
];
const alone = (name: string) => open(name, 1, [], false);
const openings: Record<string, (name: string) => Promise<Site>> = {
  "three machines, files": (name) => open(name, 3, [], false),
  "one node, Kafka": (name) => open(name, 1, cluster("one")),
  "three nodes, Kafka": (name) => open(name, 3, cluster("three")),
  "one node, floor": (name) => openFloor(name, 1, "floor-one"),
  "three nodes, floor": (name) => openFloor(name, 3, "floor-three"),
  "three processes, no Kafka": (name) => openFloor(name, 3),
};

/** Measures one machine with its disk and a case beside each other, as two rows. */
async function compare(name: string, start: (name: string) => Promise<Site>) {
  const sites = [await alone(`one machine, files, beside ${name}`), await start(name)];
  try {
    // Warm-up: the JIT compiles the code after many thousand events on each node.
    for (const site of sites) await run(site, site.nodes.length * Number(events), 0);
    const found = new Map<Site, Awaited<ReturnType<typeof run>>[]>(sites.map((it) => [it, []]));
    for (let round = 0; round < Number(rounds); round++) {
      for (const site of sites) found.get(site)!.push(await run(site, Number(events), 0));
    }
    const rows = [];
    const first = found.get(sites[0]!)!;
    for (const [site, all] of found) {
      const ratioOf = (rate: "perCpuSecond" | "compiled") =>
        round2(median(all.map((it, n) => it[rate] / first[n]![rate])));
      const even = await run(site, EVEN.rate * EVEN.seconds, EVEN.rate);
      rows.push({
        case: site.name,
        "events/CPU-s": Math.round(median(all.map((it) => it.perCpuSecond))),
        "ratio to files": ratioOf("perCpuSecond"),
        compiled: ratioOf("compiled"),
        "µs of server, ingest, guests": (["server", "ingest", "guests"] as const)
          .map((part) => Math.round(median(all.map((it) => it[part]))))
          .join(", "),
        [`p50 ms at ${EVEN.rate}/s`]: round2(even.p50!),
        [`p99 ms at ${EVEN.rate}/s`]: round2(even.p99!),
      });
    }
    return rows;
  } finally {
    for (const { stop } of sites) await stop();
  }
}

try {
  const rows = [];
  for (const [name, start] of Object.entries(openings)) {
    if (only === undefined || only.split(";").includes(name)) {
      rows.push(...(await compare(name, start)));
    }
  }
  await report("cluster-nodes", rows);
} finally {
  await brokers.stop();
}
process.exit(0);
