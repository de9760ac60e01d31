/**
 * Measures a good workspace beside many hostile ones, whose code attacks with every event: endless
 * loops, floods, memory bombs, and forged frames of escaped guests. Prints the latency of the good
 * workspace's events alone and under attack, the latency of the API, the server's memory, and how
 * long the server's main thread ran and waited for a processor.
 *
 *   bun bench/tenants.ts [--workspaces 100] [--seconds 25] [--rate 20] [--only PATTERN]
 *     [--flood CONNECTIONS] [--dead-names COUNT] [--full-disk] [--executable FILE]
 *     [--command dist/pixelmill]
 *
 * The server is a new build of the executable, in which `bench/tenants/main.ts` opens the sandbox
 * of hostile code. `--executable` takes an earlier build, to compare:
 * `bun src/build.ts --entry bench/tenants/main.ts --outfile FILE`. With `--command`, attacks that
 * need an open sandbox are skipped. `--full-disk` needs root; it keeps the data on a small file
 * system, which is full during the last third of the attack.
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { permissions } from "../src/catalog/model.ts";
import { withCatalog } from "../src/cli/catalog.ts";
import { pooledMap } from "../src/concurrency/pooled-map.ts";
import { prepareDataDirectory } from "../src/first-start/data-directory.ts";
import { loadConfig } from "../src/settings/reader.ts";
import {
  childrenOf,
  removeDirectory,
  type Server,
  startServer,
  temporaryDirectory,
} from "../test/e2e/server.ts";
import { report } from "./report.ts";
import { SmallDisk } from "./small-disk.ts";
import { ATTACK, ESCAPED, hostile } from "./tenants/hostile.ts";

const { values } = parseArgs({
  options: {
    workspaces: { type: "string", default: "100" },
    seconds: { type: "string", default: "25" },
    rate: { type: "string", default: "20" },
    only: { type: "string", default: "" },
    flood: { type: "string", default: "0" },
    "dead-names": { type: "string", default: "0" },
    "full-disk": { type: "boolean", default: false },
    executable: { type: "string" },
    command: { type: "string" },
  },
});
const seconds = Number(values.seconds);
const GOOD_CODE = `export function transformEvent(event) {
  event.properties = { ...event.properties, seen: true };
  return event;
}`;
/** Address without a server. */
const DEAD_NAME_SERVER = "127.0.0.1:9";
const SETTLE_MS = 3_000;
const SETUPS_AT_ONCE = 8;
const POLL_MS = 250;

const kinds = Object.entries(hostile)
  .filter(([name]) => new RegExp(values.only).test(name))
  .filter(([, { code }]) => values.command === undefined || !code.includes(ESCAPED));
const arrived: number[] = [];
const sentAt = new Map<string, number>();
const receivers = { answers: startReceiver(), silent: startSilent() };
const directory = temporaryDirectory();
const disk = values["full-disk"] ? SmallDisk.mount(directory) : undefined;
const tokens = await createWorkspaces(Number(values.workspaces) + 1);
const server = await startServer({
  directory,
  command: [resolve(values.command ?? values.executable ?? build())],
  flags: Number(values["dead-names"]) > 0 ? ["--egress-resolver", DEAD_NAME_SERVER] : [],
});

const good = await addTenant(tokens[0]!, GOOD_CODE, `${receivers.answers.url}good`);
const bad: string[] = await pooledMap(tokens.slice(1), SETUPS_AT_ONCE, addHostile);

const alone = await phase("alone", seconds / 2, async () => {});
const sockets = flood(Number(values.flood));
const beside = await phase(`beside ${bad.length} hostile workspaces`, seconds, attack);
const full = disk && (await phase("beside them, full disk", seconds / 2, withoutDisk));
for (const socket of sockets) socket.destroy();
const after = await phase("after the attack", seconds / 4, async () => {});
await report("tenants", [alone, beside, ...(full ? [full] : []), after]);
await report("tenants-guests", await guestEnds(server));
await server.stop();
disk?.unmount();
removeDirectory(directory);
process.exit(0);

/** Builds the executable that opens the sandbox of hostile code; returns its path. */
function build(): string {
  const outfile = join(directory, "unlocked");
  const entry = join(import.meta.dir, "tenants/main.ts");
  const command = ["src/build.ts", "--entry", entry, "--outfile", outfile];
  const { success, stderr } = Bun.spawnSync([process.execPath, ...command], {
    cwd: join(import.meta.dir, ".."),
  });
  if (!success) throw new Error(`The executable was not built: ${stderr}`);
  return outfile;
}

/** Attacks on a full disk, which is freed for the last quarter, so that events can be delivered. */
async function withoutDisk(): Promise<void> {
  const attacking = attack(seconds / 2);
  disk!.fill();
  await Bun.sleep((seconds / 2) * 750);
  disk!.empty();
  await attacking;
}

function addHostile(token: string): Promise<string> {
  const index = tokens.indexOf(token) - 1;
  const [, { code, receiver }] = kinds[index % kinds.length]!;
  const isDead = index < Number(values["dead-names"]);
  const url = isDead ? `http://dead-${index}.example/` : `${receivers[receiver].url}bad`;
  return addTenant(token, code, url);
}

/** Runs a phase; adds a row with the figures of the good workspace to the table. */
async function phase(name: string, phaseSeconds: number, work: () => Promise<void>) {
  arrived.length = 0;
  sentAt.clear();
  const pixels: number[] = [];
  const health: number[] = [];
  const began = { at: performance.now(), ...mainThread() };
  let accepted = 0;
  let memory = 0;
  let guests = 0;
  const poll = setInterval(async () => {
    memory = Math.max(memory, residentMb(server.pid));
    guests = Math.max(guests, childrenOf(server.pid, "guest").length);
    health.push(await timed(() => fetch(`${server.controlPlane}/health`)));
  }, POLL_MS);
  const hostileWork = work();
  const end = performance.now() + phaseSeconds * 1_000;
  const pending: Promise<unknown>[] = [];
  let sent = 0;
  for (let next = performance.now(); next < end; next += 1_000 / Number(values.rate)) {
    await Bun.sleep(Math.max(0, next - performance.now()));
    const key = `${name} ${sent}`;
    sent += 1;
    sentAt.set(key, performance.now());
    const sending = timed(async () => {
      if (await pixel(good, "Good", key)) accepted += 1;
    });
    pending.push(sending.then((ms) => pixels.push(ms)));
  }
  await Promise.allSettled([...pending, hostileWork]);
  await Bun.sleep(SETTLE_MS);
  clearInterval(poll);
  const { runsMs, waitsMs } = mainThread();
  const share = (ms: number) => Math.round((100 * ms) / (performance.now() - began.at));
  return {
    phase: name,
    sent,
    "answered 200": accepted,
    delivered: arrived.length,
    "delivery p50 ms": quantile(arrived, 0.5),
    "p99 ms": quantile(arrived, 0.99),
    "pixel p99 ms": quantile(pixels, 0.99),
    "/health p99 ms": quantile(health, 0.99),
    "main thread runs %": share(runsMs - began.runsMs),
    "main thread waits %": share(waitsMs - began.waitsMs),
    "server MB, maximum": memory,
    "guests, maximum": guests,
  };
}

/** Sends one event per second to every hostile workspace. */
async function attack(forSeconds = seconds): Promise<void> {
  const end = performance.now() + forSeconds * 1_000;
  for (let n = 0; performance.now() < end; n += 1) {
    pixel(bad[n % bad.length]!, ATTACK, "").catch(() => {});
    await Bun.sleep(1_000 / bad.length);
  }
}

function flood(count: number): Socket[] {
  const { port } = new URL(server.dataPlane);
  return Array.from({ length: count }, () => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET /pixel/v1/track?writeKey=");
    return socket;
  });
}

/** Sends a pixel; resolves with whether the server accepted it. */
async function pixel(writeKey: string, event: string, key: string): Promise<boolean> {
  const query = new URLSearchParams({ writeKey, event, userKey: key, anonymousId: `a${key}` });
  const response = await fetch(`${server.dataPlane}/pixel/v1/track?${query}`);
  await response.arrayBuffer();
  return response.ok;
}

/** Time that the server's main thread ran, and that it waited for a processor. */
function mainThread() {
  const path = `/proc/${server.pid}/task/${server.pid}/schedstat`;
  const [runs = 0, waits = 0] = readFileSync(path, "latin1").split(" ").map(Number);
  return { runsMs: runs / 1e6, waitsMs: waits / 1e6 };
}

async function createWorkspaces(count: number): Promise<string[]> {
  const config = loadConfig({ data: join(directory, "data"), "log-level": "error" });
  const secrets: string[] = [];
  prepareDataDirectory(config);
  await withCatalog(config, async (catalog) => {
    for (let n = 0; n < count; n += 1) {
      const { id } = await catalog.workspaces.create(`Tenant ${n}`);
      const admin = { name: "admin", permissions: [...permissions] };
      secrets.push((await catalog.tokens.create(id, admin)).secret);
    }
  });
  return secrets;
}

/** Creates a source, a webhook and published code between them; returns the write key. */
async function addTenant(token: string, code: string, webhookUrl: string): Promise<string> {
  const { source } = await make(token, "/v2/sources", { name: "Site", type: "http" });
  const { destination } = await make(token, "/v2/destinations", {
    ...{ name: "To", type: "webhook" },
    config: { webhookUrl },
  });
  await make(token, "/v2/connections", { sourceId: source.id, destinationId: destination.id });
  const destinationIds = [destination.id];
  const transformation = { name: "T", code, language: "javascript", destinationIds };
  await make(token, "/transformations?publish=true", transformation);
  return source.writeKey;
}

async function make(token: string, path: string, body: unknown): Promise<any> {
  const response = await fetch(server.controlPlane + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${answer}`);
  return JSON.parse(answer);
}

function startReceiver() {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const isGood = request.url.endsWith("/good");
      const body = await request.text();
      if (isGood) note(JSON.parse(body));
      return new Response();
    },
  });
}

function note(event: Record<string, string>): void {
  const started = sentAt.get(event.userKey ?? "");
  if (started !== undefined) arrived.push(performance.now() - started);
}

function startSilent() {
  return Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1", idleTimeout: 0 },
    fetch: () => new Promise<Response>(() => {}),
  });
}

async function guestEnds({ controlPlane }: Server) {
  const metrics = await (await fetch(`${controlPlane}/metrics`)).text();
  return [...metrics.matchAll(/^pixelmill_guest_ends_total\{.*end="(\w+)".*\} (\d+)$/gm)].map(
    ([, end, count]) => ({ "guests ended by": end!, count: Number(count) }),
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024);
}

function quantile(numbers: number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}
