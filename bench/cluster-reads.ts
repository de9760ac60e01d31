/**
 * `bun bench/cluster-reads.ts [ROUNDS] [SECONDS] [EXECUTABLE …]`: measures a read of the control
 * plane (`GET /v2/sources`) at two nodes on three Kafka brokers, with one client and with 64
 * clients: time, CPU of nodes and brokers, and entries in the catalog's log for each read. Rounds
 * of the executables alternate. The default is `dist/pixelmill`. The first executable also runs as
 * one server with files, where a read asks no broker.
 */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { connectClients } from "../src/kafka/client.ts";
import { startBrokers } from "../test/cluster/brokers.ts";
import { ADMIN_TOKEN, removeDirectory, type Server, startServer } from "../test/e2e/server.ts";
import { cpuByPart } from "./cpu.ts";
import { median } from "./load.ts";
import { report, round2 } from "./report.ts";

const [rounds = "3", seconds = "5", ...executables] = process.argv.slice(2);
const NODES = 2;
const CLIENTS = [1, 64];

interface Site {
  name: string;
  nodes: Server[];
  /** Topic of the catalog; absent for one server with files. */
  catalog?: string;
}

const sum = (all: readonly number[]) => all.reduce((one, other) => one + other, 0);
const cpuOfProcess = (pid: number) =>
  sum(
    readdirSync(`/proc/${pid}/task`).map((task) =>
      Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]),
    ),
  ) / 1_000;

const brokers = await startBrokers(3);
const clients = await connectClients({ brokers: brokers.addresses });
const consumer = clients.fetchConsumer();
const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
const sites: Site[] = [];
const compared = executables.length > 0 ? executables : ["dist/pixelmill"];

async function open(name: string, executable: string, count: number, flags: string[]) {
  const nodes: Server[] = [];
  const command = [resolve(executable)];
  for (let node = 0; node < count; node++)
    nodes.push(await startServer({ command, flags: [...flags, "--admin-rate", "0"] }));
  for (let source = 0; source < 5; source++)
    await nodes[0]!.api("POST", "/v2/sources", { name: `source ${source}`, type: "http" });
  return { name, nodes };
}

sites.push(await open(`${compared[0]}, files`, compared[0]!, 1, []));
for (const [index, executable] of compared.entries()) {
  const name = `reads${index}`;
  const flags = ["--cluster-kafka", brokers.addresses.join(","), "--cluster-name", name];
  flags.push("--cluster-partitions", "3");
  const site = await open(executable, executable, NODES, flags);
  sites.push({ ...site, catalog: `${name}.catalog` });
}

async function entries({ catalog }: Site): Promise<number> {
  if (catalog === undefined) return 0;
  const ends = await consumer.listOffsets({ topics: [catalog], timestamp: -1n });
  return Number(ends.get(catalog)![0]);
}

/** Reads at the first node with `count` clients at once, each as fast as it is answered. */
async function run(site: Site, count: number) {
  const times: number[] = [];
  const cpuOfNodes = () => sum(site.nodes.flatMap(({ pid }) => Object.values(cpuByPart(pid))));
  const cpuOfBrokers = () => sum(brokers.pids().map(cpuOfProcess));
  const before = [await entries(site), cpuOfNodes(), cpuOfBrokers()] as const;
  const until = performance.now() + 1_000 * Number(seconds);
  const client = async () => {
    while (performance.now() < until) {
      const startedAt = performance.now();
      const response = await fetch(`${site.nodes[0]!.controlPlane}/v2/sources`, { headers });
      await response.text();
      if (response.status === 200) times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: count }, client));
  const after = [await entries(site), cpuOfNodes(), cpuOfBrokers()] as const;
  const each = (part: 0 | 1 | 2) => (after[part] - before[part]) / times.length;
  times.sort((one, other) => one - other);
  const quantile = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return {
    p50: quantile(0.5),
    p99: quantile(0.99),
    rate: times.length / Number(seconds),
    entries: each(0),
    nodeCpu: each(1) / 1_000,
    brokerCpu: each(2) / 1_000,
  };
}

try {
  const rows = [];
  for (const count of CLIENTS) {
    for (const site of sites) await run(site, count);
    const found = new Map(sites.map((it) => [it, [] as Awaited<ReturnType<typeof run>>[]]));
    for (let round = 0; round < Number(rounds); round++) {
      for (const site of sites) found.get(site)!.push(await run(site, count));
    }
    for (const [site, all] of found) {
      const middle = (of: keyof (typeof all)[number]) => round2(median(all.map((it) => it[of])));
      rows.push({
        executable: site.name,
        clients: count,
        "p50 ms": middle("p50"),
        "p99 ms": middle("p99"),
        "reads/s": middle("rate"),
        "entries/read": middle("entries"),
        "CPU ms/read, nodes": middle("nodeCpu"),
        "CPU ms/read, brokers": middle("brokerCpu"),
      });
    }
  }
  await report("cluster-reads", rows);
} finally {
  for (const { nodes } of sites) {
    for (const node of nodes) {
      await node.stop("SIGKILL");
      removeDirectory(node.directory);
    }
  }
  await clients.close();
  await brokers.stop();
}
process.exit(0);
