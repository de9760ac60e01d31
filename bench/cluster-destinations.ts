/**
 * `bun bench/cluster-destinations.ts [DESTINATIONS] [PARTITIONS] [--create N] [--executable FILE]`:
 * measures what many destinations cost a cluster of three nodes on three brokers: start, creation
 * of N more, lists, rest, a node that stops and starts, a restart of all nodes, and changes of
 * some. The destinations are made in a data directory that the cluster imports. CPU is that of all
 * pixelmill processes, memory that of the largest server process, and the catalog's and ledgers'
 * bytes are those of one copy. Two runs show which cost grows faster than `DESTINATIONS`. Meanwhile
 * users send numbered pixels to one more destination: their times, and, in the end, that each
 * accepted one has arrived once or more, in its user's order. Exits with 1 if not.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { permissions } from "../src/catalog/model.ts";
import { openCatalog } from "../src/catalog/open.ts";
import { pooledMap } from "../src/concurrency/pooled-map.ts";
import { catalogDirectory, prepareDataDirectory } from "../src/first-start/data-directory.ts";
import { connectClients } from "../src/kafka/client.ts";
import { createLogger } from "../src/observe/log.ts";
import { loadConfig } from "../src/settings/reader.ts";
import { startBrokers } from "../test/cluster/brokers.ts";
import {
  ADMIN_TOKEN,
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../test/e2e/server.ts";
import { SentPixels } from "../test/soak/sent-pixels.ts";
import { cpuByPart } from "./cpu.ts";
import { report, round2 } from "./report.ts";

const { values, positionals } = parseArgs({
  options: {
    executable: { type: "string", default: "dist/pixelmill" },
    create: { type: "string", default: "100" },
  },
  allowPositionals: true,
});
const [count, partitions] = [Number(positionals[0] ?? 2_000), positionals[1] ?? "12"];
const CALLS_AT_ONCE = 8;
const SEEDS_AT_ONCE = 500;
const SOURCES = 100;
/** Number of destinations that are created through the API. */
const created = Number(values.create);
/** Number of destinations that are disabled and deleted through the API. */
const CHANGED = 100;
/** Users beside whose pixels everything happens, and the pause between two pixels of one. */
const USERS = 6;
const PIXEL_PAUSE_MS = 100;
/** Number of sources that send an event when it is to be delivered to their destinations. */
const SENDING = 10;
const REST_MS = 10_000;
const WAIT_MS_MAX = 600_000;
const command = [resolve(values.executable)];

const brokers = await startBrokers(3);
const cluster = [
  ...["--cluster-kafka", brokers.addresses.join(","), "--cluster-partitions", partitions],
  ...["--cluster-replicas", "3"],
];
const flags = [
  ...cluster,
  ...["--admin-rate", "0", "--ingest-processes", "1"],
  ...["--workspace-destinations", "100000", "--workspace-connections", "100000"],
];
const clients = await connectClients({ brokers: brokers.addresses });
const admin = clients.admin();
const sink = startSink();
const pixelSink = startSink();
const pixels = new SentPixels();
let pixelTimes: { ms: number; status: number }[] = [];
let isSending = true;
const nodes: Server[] = [];
const directories = [temporaryDirectory(), temporaryDirectory(), temporaryDirectory()];
let turn = 0;
let ended = 0;
let saidBefore = 0;
let complaints = "";
let broken: string[] = [];
/** Number of changes that were answered 503: each may have taken effect, or may yet. */
let unknown = 0;
/** Length of the last answer. */
let answerChars = 0;
const rows: Record<string, string | number>[] = [];

try {
  const { sources, ids } = await seed(join(directories[0]!, "data"));
  await measured("import", async () => {
    const data = ["--data", join(directories[0]!, "data")];
    const child = Bun.spawn([...command, "cluster", "import", ...data, ...cluster]);
    if ((await child.exited) !== 0) throw new Error("The import failed");
  });
  const startAll = async () => {
    const starting = directories.map((directory) => startServer({ command, flags, directory }));
    nodes.push(...(await Promise.all(starting)));
    await settled(3);
  };
  const deliver = () => delivered(sources);
  await measured("three nodes start", startAll);
  await measured("an event of ten sources", deliver);
  const beside = await pixelsBeside();
  const added = await measured(`create ${created}`, () =>
    changed(created, async (n) => {
      const body = { name: `Added ${n}`, type: "webhook", config: { webhookUrl: sink.url } };
      const destination = (await call("POST", "/v2/destinations", body))?.destination;
      if (destination === undefined) return [];
      const sourceId = sources[SENDING + (n % SENDING)]!.id;
      await call("POST", "/v2/connections", { sourceId, destinationId: destination.id });
      return [destination.id as string];
    }),
  ).then((ids) => ids.flat());
  await measured("list all in pages, at each node", async () => {
    for (const node of nodes) {
      const listed = await list(node);
      const known = count + added.length + 1;
      if (listed < known || listed > known + unknown) {
        throw new Error(
          `${listed} destinations are listed, expected ${known} and up to ${unknown}`,
        );
      }
    }
  });
  await measured("an event of ten sources", deliver);
  await measured("rest", () => Bun.sleep(REST_MS));
  for (const path of ["/v2/cluster", "/v2/overview", "/metrics", "/ready"]) {
    await measured(`GET ${path}, ten times`, async () => {
      for (let n = 0; n < 10; n++) await call("GET", path);
    });
  }
  await measured("a node stops", async () => {
    await stop(2);
    await settled(2);
  });
  await measured("an event of ten sources", deliver);
  await measured("the node starts", async () => {
    nodes.push(await startServer({ command, flags, directory: directories[2]! }));
    await settled(3);
  });
  await measured("an event of ten sources", deliver);
  await measured("all nodes stop", async () => {
    await Promise.all([stop(2), stop(1), stop(0)]);
  });
  await measured("all nodes start", startAll);
  await measured("an event of ten sources", deliver);
  const enable = (enabled: boolean) =>
    changed(CHANGED, (n) => call("PUT", `/v2/destinations/${ids[n]}`, { enabled }));
  await measured(`disable ${CHANGED}`, () => enable(false));
  await measured(`enable ${CHANGED}`, () => enable(true));
  await measured("an event of ten sources", deliver);
  await measured(`delete ${CHANGED}`, () =>
    changed(CHANGED, (n) => call("DELETE", `/v2/destinations/${added[n]}`)),
  );
  await measured("rest", () => Bun.sleep(REST_MS));
  isSending = false;
  await beside.users;
  await waitFor(arePixelsThere, "each accepted pixel to arrive");
  broken = brokenOrder();
} finally {
  process.stderr.write(complaints + nodes.map(complaintsOf).join(""));
  await report(`cluster-destinations-${count}`, rows);
  sink.stop();
  pixelSink.stop();
  await Promise.all(nodes.map((node) => node.stop()));
  directories.forEach(removeDirectory);
  await clients.close();
  await brokers.stop();
}
process.stderr.write(`${pixels.acknowledged} pixels accepted, ${broken.length} out of order\n`);
process.exit(broken.length === 0 ? 0 : 1);

/** Makes a data directory of a server alone, with sources, and destinations that they have. */
async function seed(data: string) {
  const config = loadConfig({ data, "log-level": "error", "workspace-destinations": "100000" });
  const sources: { id: string; writeKey: string }[] = [];
  const ids: string[] = [];
  prepareDataDirectory(config);
  const directory = catalogDirectory(config);
  const itemsMax = { destinations: 100_000, connections: 100_000 };
  const catalog = await openCatalog({ directory, logger: createLogger("silent"), itemsMax });
  const { id: workspace } = await catalog.workspaces.create("Main");
  const token = { name: "admin", permissions: [...permissions], secret: ADMIN_TOKEN };
  await catalog.tokens.create(workspace, token);
  for (let n = 0; n < SOURCES; n++) {
    sources.push(await catalog.sources.create(workspace, { name: `Source ${n}` }));
  }
  const numbers = Array.from({ length: count }, (_, n) => n);
  await pooledMap(numbers, SEEDS_AT_ONCE, async (n) => {
    const input = { name: `Destination ${n}`, type: "webhook", config: { webhookUrl: sink.url } };
    const { id } = await catalog.destinations.create(workspace, input);
    const pair = { sourceId: sources[n % SOURCES]!.id, destinationId: id };
    await catalog.connections.create(workspace, pair, {});
    ids[n] = id;
  });
  await catalog.close();
  return { sources, ids };
}

/** Starts users who send pixels to a destination; `users` resolves when they have stopped. */
async function pixelsBeside(): Promise<{ users: Promise<unknown> }> {
  const { writeKey } = await route(nodes[0]!, { url: pixelSink.url });
  const send = async (user: string) => {
    for (; isSending; await Bun.sleep(PIXEL_PAUSE_MS)) {
      const n = pixels.next(user);
      const startedAt = performance.now();
      const query = { writeKey, userId: user, event: "Beside", "properties.n": `${n}` };
      // A node that stops refuses connections until it has left the list, which may be empty then.
      const status = await Promise.try(() => pixel(next(), "track", query)).then(
        (answer) => answer.status,
        () => 0,
      );
      pixelTimes.push({ ms: performance.now() - startedAt, status });
      if (status === 200) pixels.acknowledge(user, n);
    }
  };
  return { users: Promise.all(Array.from({ length: USERS }, (_, n) => send(`beside-${n}`))) };
}

function pixelFigures() {
  const taken = pixelTimes.filter(({ status }) => status === 200).map(({ ms }) => ms);
  const sorted = taken.sort((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  const p50 = at(0.5);
  return {
    "pixel p50/p99/max ms": `${p50}/${at(0.99)}/${at(1)}`,
    "pixels refused": `${pixelTimes.length - taken.length}/${pixelTimes.length}`,
  };
}

/** The numbers of each user's pixels at the destination, first deliveries alone. */
function pixelsOf(): Map<string, number[]> {
  const found = new Map<string, Set<number>>();
  for (const { userId, properties } of pixelSink.events) {
    found.set(userId, (found.get(userId) ?? new Set()).add(Number(properties.n)));
  }
  return new Map([...found].map(([user, numbers]) => [user, [...numbers]]));
}

function arePixelsThere(): boolean {
  const found = new Map([...pixelsOf()].map(([user, numbers]) => [user, new Set(numbers)]));
  return [...pixels.acknowledgedOf("beside-")].every(([user, n]) => found.get(user)?.has(n));
}

function brokenOrder(): string[] {
  return [...pixelsOf()].flatMap(([user, numbers]) =>
    numbers.flatMap((n, at) => (at > 0 && n < numbers[at - 1]! ? [`${user} ${n}`] : [])),
  );
}

/** Runs a phase and adds its row to the table. */
async function measured<T>(phase: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const [cpu, log, said] = [cpuOfNodes(), await logBytes(), saidBytes()];
  const slowest = watchSlowest();
  pixelTimes = [];
  const result = await work();
  const row = {
    phase,
    seconds: round2((performance.now() - startedAt) / 1_000),
    "CPU s": round2((cpuOfNodes() - cpu) / 1e6),
    "slowest /health ms": await slowest(),
    "changes unknown": unknown,
    "last answer KB": round2(answerChars / 1_000),
    ...pixelFigures(),
    "largest server MB": Math.max(0, ...nodes.map(({ pid }) => residentMb(pid))),
    "catalog KB": Math.round(((await logBytes()).catalog - log.catalog) / 1_000),
    "ledgers KB": Math.round(((await logBytes()).ledgers - log.ledgers) / 1_000),
    "log lines KB": Math.round((saidBytes() - said) / 1_000),
  };
  rows.push(row);
  process.stderr.write(`${JSON.stringify(row)}\n`);
  return result;
}

/** CPU time in µs of all servers that run, and of those that ended. */
function cpuOfNodes(): number {
  const all = nodes.flatMap(({ pid }) => Object.values(cpuByPart(pid)));
  return ended + all.reduce((one, other) => one + other, 0);
}

function saidBytes(): number {
  return nodes.reduce((sum, it) => sum + it.errors().length, saidBefore);
}

async function stop(index: number): Promise<void> {
  const node = nodes[index]!;
  const before = Object.values(cpuByPart(node.pid)).reduce((one, other) => one + other, 0);
  const exited = node.stop();
  await exited;
  ended += before;
  saidBefore += node.errors().length;
  complaints += complaintsOf(node);
  nodes.splice(nodes.indexOf(node), 1);
}

/** Log lines of a node that are warnings or errors. */
function complaintsOf(node: Server): string {
  const lines = node.errors().split("\n");
  return lines.flatMap((it) => (it.includes('"level":"info"') ? [] : `${it}\n`)).join("");
}

/** Waits until `wanted` nodes share all partitions. */
async function settled(wanted: number): Promise<void> {
  await waitFor(
    async () => {
      const { status, body } = await nodes[0]!.api("GET", "/v2/cluster");
      if (status !== 200 || body.nodes === undefined) return false;
      const shares = body.nodes
        .map((it: any) => it.partitions.length)
        .filter((it: number) => it > 0);
      const sum = shares.reduce((one: number, other: number) => one + other, 0);
      const owned = body.partitions.every((it: any) =>
        body.nodes.some(({ id }: any) => id === it.node),
      );
      return shares.length === wanted && sum === Number(partitions) && owned;
    },
    `${wanted} nodes to share the partitions`,
    WAIT_MS_MAX,
  );
}

/** Sends one event of each of some sources, and waits until all their destinations have it. */
async function delivered(sources: readonly { writeKey: string }[]): Promise<void> {
  const before = sink.events.length;
  const due = SENDING * Math.floor(count / SOURCES);
  await pooledMap(sources.slice(0, SENDING), CALLS_AT_ONCE, async ({ writeKey }) => {
    const query = `writeKey=${writeKey}&userId=${crypto.randomUUID()}&event=E`;
    const { status } = await fetch(`${next().dataPlane}/pixel/v1/track?${query}`);
    if (status !== 200) throw new Error(`A pixel is answered ${status}`);
  });
  await waitFor(() => sink.events.length - before >= due, "all deliveries", WAIT_MS_MAX);
}

async function list(node: Server): Promise<number> {
  let found = 0;
  for (let path = "/v2/destinations"; ; ) {
    const { body } = await node.api("GET", path);
    found += body.destinations.length;
    if (body.paging?.next === undefined) return found;
    path = `/v2${body.paging.next}`;
  }
}

function next(): Server {
  turn += 1;
  return nodes[turn % nodes.length]!;
}

async function call(method: string, path: string, body?: unknown): Promise<any> {
  const node = next();
  // Without keepalive: a node closes idle connections, and a change is not sent twice.
  const answer = await fetch(node.controlPlane + path, {
    method,
    keepalive: false,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  answerChars = text.length;
  if (answer.status === 503 && method !== "GET") {
    unknown += 1;
    return undefined;
  }
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return path === "/metrics" || text === "" ? text : JSON.parse(text);
}

function changed<T>(times: number, change: (n: number) => Promise<T>): Promise<T[]> {
  const numbers = Array.from({ length: times }, (_, n) => n);
  return pooledMap(numbers, CALLS_AT_ONCE, change);
}

/** Slowest answer of a request that needs neither brokers nor the catalog: pauses of a process. */
function watchSlowest(): () => Promise<number> {
  let slowest = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      await Promise.all(nodes.map((it) => fetch(`${it.controlPlane}/health`).catch(() => {})));
      slowest = Math.max(slowest, performance.now() - startedAt);
      await Bun.sleep(50);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return Math.round(slowest);
  };
}

/** Bytes that one copy of each shared topic has on the brokers' disks. */
async function logBytes(): Promise<{ catalog: number; ledgers: number }> {
  const topics = [
    { name: "pixelmill.catalog", partitions: [0] },
    {
      name: "pixelmill.ledgers",
      partitions: Array.from({ length: Number(partitions) }, (_, n) => n),
    },
  ];
  const described = await admin.describeLogDirs({ topics });
  const found = described.flatMap(({ results }) => results.flatMap((it) => it.topics));
  const [catalog, ledgers] = topics.map(({ name }) => {
    const copies = found.filter((it) => it.name === name).flatMap((it) => it.partitions);
    return copies.reduce((sum, it) => sum + Number(it.partitionSize), 0) / brokers.addresses.length;
  }) as [number, number];
  return { catalog, ledgers };
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024);
}
