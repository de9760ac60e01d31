/**
 * A good workspace beside many hostile ones, each with code that does its worst with every event:
 * loops, floods, bombs, and forged answers of guests that have been broken into. Tells how long the
 * good one's events take to their receiver alone and beside them, the API, and the server's memory.
 *
 *   bun bench/tenants.ts [--workspaces 100] [--seconds 25] [--rate 20] [--only PATTERN]
 *     [--flood CONNECTIONS] [--dead-names COUNT] [--command dist/pixelmill]
 *
 * Uses the checkout, whose guests start ten times as slowly: those of hostile code are unlocked by
 * `bench/tenants/main.ts`. With a command, code that has to be unlocked is left out.
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { permissions } from "../src/catalog/model.ts";
import { withCatalog } from "../src/cli/catalog.ts";
import { loadConfig } from "../src/config.ts";
import { mapAtOnce } from "../src/publishing/turns.ts";
import { prepareData } from "../src/start/data-directory.ts";
import {
  childrenOf,
  removeDirectory,
  type Server,
  startServer,
  temporaryDirectory,
} from "../test/e2e/server.ts";
import { report } from "./report.ts";
import { ATTACK, ESCAPED, hostile } from "./tenants/hostile.ts";

const { values } = parseArgs({
  options: {
    workspaces: { type: "string", default: "100" },
    seconds: { type: "string", default: "25" },
    rate: { type: "string", default: "20" },
    only: { type: "string", default: "" },
    flood: { type: "string", default: "0" },
    "dead-names": { type: "string", default: "0" },
    command: { type: "string" },
  },
});
const seconds = Number(values.seconds);
const GOOD_CODE = `export function transformEvent(event) {
  event.properties = { ...event.properties, seen: true };
  return event;
}`;
/** Nobody answers there. */
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
const tokens = await createWorkspaces(Number(values.workspaces) + 1);
const server = await startServer({
  directory,
  command: values.command
    ? [resolve(values.command)]
    : [process.execPath, join(import.meta.dir, "tenants/main.ts")],
  flags: Number(values["dead-names"]) > 0 ? ["--egress-resolver", DEAD_NAME_SERVER] : [],
});

const good = await addTenant(tokens[0]!, GOOD_CODE, `${receivers.answers.url}good`);
const bad: string[] = await mapAtOnce(tokens.slice(1), SETUPS_AT_ONCE, addHostile);

const alone = await phase("alone", seconds / 2, async () => {});
const sockets = flood(Number(values.flood));
const beside = await phase(`beside ${bad.length} hostile ones`, seconds, attack);
for (const socket of sockets) socket.destroy();
const after = await phase("afterwards", seconds / 4, async () => {});
await report("tenants", [alone, beside, after]);
await report("tenants-guests", await guestEnds(server));
await server.stop();
removeDirectory(directory);
process.exit(0);

function addHostile(token: string): Promise<string> {
  const index = tokens.indexOf(token) - 1;
  const [, { code, receiver }] = kinds[index % kinds.length]!;
  const isDead = index < Number(values["dead-names"]);
  const url = isDead ? `http://dead-${index}.example/` : `${receivers[receiver].url}bad`;
  return addTenant(token, code, url);
}

/** One row of the table: what the good workspace saw. */
async function phase(name: string, phaseSeconds: number, work: () => Promise<void>) {
  arrived.length = 0;
  sentAt.clear();
  const pixels: number[] = [];
  const health: number[] = [];
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
    pending.push(timed(() => pixel(good, "Good", key)).then((ms) => pixels.push(ms)));
  }
  await Promise.allSettled([...pending, hostileWork]);
  await Bun.sleep(SETTLE_MS);
  clearInterval(poll);
  return {
    phase: name,
    sent,
    delivered: arrived.length,
    "delivery p50 ms": quantile(arrived, 0.5),
    "p99 ms": quantile(arrived, 0.99),
    "pixel p99 ms": quantile(pixels, 0.99),
    "/health p99 ms": quantile(health, 0.99),
    "server MB at most": memory,
    "guests at most": guests,
  };
}

/** An event a second of every hostile workspace. */
async function attack(): Promise<void> {
  const end = performance.now() + seconds * 1_000;
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

async function pixel(writeKey: string, event: string, key: string): Promise<void> {
  const query = new URLSearchParams({ writeKey, event, userKey: key, anonymousId: `a${key}` });
  await (await fetch(`${server.dataPlane}/pixel/v1/track?${query}`)).arrayBuffer();
}

async function createWorkspaces(count: number): Promise<string[]> {
  const config = loadConfig({ data: join(directory, "data"), "log-level": "error" });
  const secrets: string[] = [];
  prepareData(config);
  await withCatalog(config, async (catalog) => {
    for (let n = 0; n < count; n += 1) {
      const { id } = await catalog.workspaces.create(`Tenant ${n}`);
      const admin = { name: "admin", permissions: [...permissions] };
      secrets.push((await catalog.tokens.create(id, admin)).secret);
    }
  });
  return secrets;
}

/** A source, a webhook and live code between them; returns the write key. */
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
