/**
 * Measures what grows with the number of tenants: the CPU time of an event beside idle and disabled
 * destinations, beside 10,000 connections, and over 1,000 workspaces with code that are active in
 * turn; the resident memory of an idle and of an active destination; and the CPU time of a start.
 * All cases of a group run beside each other, in alternating rounds, so that a busy machine affects
 * all alike; `× first` compares a case with the group's first. A workspace gets
 * `--burst` events at a time: with 6 of 6,000, each of 1,000 has its turn in every round, which is
 * more than there may be guests, so that most turns start one.
 *
 *   npm run build && bun bench/growth.ts [--command dist/pixelmill,OTHER] [--rounds 3]
 *     [--events 6000] [--rate 2000] [--burst 50] [--only PATTERN] [--part events,memory,start]
 */
import { cpSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Catalog } from "../src/catalog/catalog.ts";
import { withCatalog } from "../src/cli/catalog.ts";
import { pooledMap } from "../src/concurrency/pooled-map.ts";
import { prepareDataDirectory } from "../src/first-start/data-directory.ts";
import { loadConfig } from "../src/settings/reader.ts";
import { removeDirectory, startServer, temporaryDirectory, waitFor } from "../test/e2e/server.ts";
import { boundCommand } from "../test/shared.ts";
import { cpuBetween, cpuByPart } from "./cpu.ts";
import { median } from "./load.ts";
import { report, round2 } from "./report.ts";
import { sendPixels } from "./send-pixels.ts";

const { values } = parseArgs({
  options: {
    command: { type: "string", default: "dist/pixelmill" },
    rounds: { type: "string", default: "3" },
    events: { type: "string", default: "6000" },
    rate: { type: "string", default: "2000" },
    burst: { type: "string", default: "50" },
    only: { type: "string", default: "" },
    part: { type: "string", default: "events,memory,start" },
  },
});
const rounds = Number(values.rounds);
const events = Number(values.events);
const commands = values.command.split(",");
const isChosen = (part: string) => values.part.split(",").includes(part);

interface Size {
  /** Destinations of the source that gets the events. */
  active: number;
  /** Destinations of another source, with `connections` sources each. */
  idle?: number;
  connections?: number;
  /** Disabled destinations of the source that gets the events. */
  disabled?: number;
  /** Workspaces with a transformation, whose sources get the events in turn. */
  workspaces?: number;
}
const sizes: Record<string, Size> = {
  "10 destinations": { active: 10 },
  "10, and 90 idle": { active: 10, idle: 90 },
  "10, and 990 idle": { active: 10, idle: 990 },
  "10, and 90 disabled": { active: 10, disabled: 90 },
  "10, and 990 disabled": { active: 10, disabled: 990 },
  "10, and 10,000 connections": { active: 10, idle: 1_000, connections: 10 },
  "10 workspaces": { active: 0, workspaces: 10 },
  "1,000 workspaces": { active: 0, workspaces: 1_000 },
};
const CODE = "export function transformEvent(event) {\n  event.seen = true;\n  return event;\n}\n";
const QUERY = "event=Seen&anonymousId=a-@U&properties.page=pricing&properties.t0=@T";
const CHANGES_AT_ONCE = 500;
const USERS = 1_000;
const SETTLE_MS = 1_500;
/** Rounds in which the JIT compiles most of the code, which are not counted. */
const WARM_ROUNDS = 2;
const START_DESTINATIONS = 20_000;
const MEMORY_IDLE = 10_000;
const MEMORY_ACTIVE = 500;

const sink = Bun.spawn([...boundCommand, process.execPath, `${import.meta.dir}/pipeline-sink.ts`], {
  stdout: "pipe",
});
const port = new TextDecoder().decode((await sink.stdout.getReader().read()).value).trim();
const receiver = `http://127.0.0.1:${port}/`;
const totalOf = (rounds: Case["rounds"]) => rounds.map(({ server, guests }) => server + guests);
const tables: [string, Record<string, string | number>[]][] = [
  ["growth-events", isChosen("events") ? await costs() : []],
  ["growth-memory", isChosen("memory") ? await memory() : []],
  ["growth-start", isChosen("start") ? await starts() : []],
];
sink.kill();
for (const [name, rows] of tables) if (rows.length > 0) await report(name, rows);
process.exit(0);

/** Creates a data directory with a catalog of this size; returns it and the write keys to use. */
async function fill({ active, idle = 0, connections = 1, disabled = 0, workspaces = 0 }: Size) {
  const directory = temporaryDirectory();
  const config = loadConfig({ data: join(directory, "data"), "log-level": "error" });
  prepareDataDirectory(config);
  const writeKeys: string[] = [];
  await withCatalog(config, async (catalog) => {
    const add = (from: string, workspaceId: string, sourceIds: string[], enabled = true) =>
      addDestination(catalog, { from, workspaceId, sourceIds, enabled });
    const { id } = await catalog.workspaces.create("Tenant");
    const source = await addSource(catalog, id);
    const others = await many(connections, () => addSource(catalog, id));
    const otherIds = others.map((other) => other.id);
    if (workspaces === 0) writeKeys.push(source.writeKey);
    await many(active, (n) => add(`${n}`, id, [source.id]));
    await many(idle, (n) => add(`idle ${n}`, id, otherIds));
    await many(disabled, (n) => add(`disabled ${n}`, id, [source.id], false));
    writeKeys.push(...(await many(workspaces, (n) => addCodeTenant(catalog, n))));
  });
  return { directory, writeKeys };
}

function many<T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> {
  return pooledMap([...Array(count).keys()], CHANGES_AT_ONCE, make);
}

function addSource(catalog: Catalog, workspaceId: string) {
  return catalog.sources.create(workspaceId, { name: "Site", type: "http", config: {} });
}

async function addDestination(
  { destinations, connections }: Catalog,
  to: { from: string; workspaceId: string; sourceIds: string[]; enabled: boolean },
): Promise<string> {
  const { workspaceId, sourceIds, enabled } = to;
  const config = { webhookUrl: `${receiver}${to.from.replace(" ", "-")}`, batchSize: 100 };
  const input = { name: `To ${to.from}`, type: "webhook", config, enabled };
  const { id } = await destinations.create(workspaceId, input);
  for (const sourceId of sourceIds) {
    await connections.create(workspaceId, { sourceId, destinationId: id }, { 0: 0 });
  }
  return id;
}

/** Adds a workspace whose one destination has published code; returns its write key. */
async function addCodeTenant(catalog: Catalog, n: number): Promise<string> {
  const { id } = await catalog.workspaces.create(`Tenant ${n}`);
  const source = await addSource(catalog, id);
  const to = { from: `${n}`, workspaceId: id, sourceIds: [source.id], enabled: true };
  const destinationId = await addDestination(catalog, to);
  const input = { name: "T", code: CODE, language: "javascript" as const };
  const revision = catalog.code.draft(id, "transformation", input);
  const { kind, versionId } = revision;
  const publish = [{ kind, id: revision.id, versionId, imports: [] }];
  const links = [{ transformationId: revision.id, destinationId }];
  await catalog.code.commit(id, { revisions: [revision], publish, links, usedLibraries: [] });
  return source.writeKey;
}

/**
 * Starts a command on a copy of the data; returns the server and the CPU time until it is ready.
 */
async function startOn(command: string, filled: string) {
  const directory = temporaryDirectory();
  cpSync(filled, directory, { recursive: true });
  const server = await startServer({ directory, command: [resolve(command)] });
  await waitFor(() => fetch(`${server.controlPlane}/ready`).then(({ ok }) => ok || undefined));
  const readyCpuMs = cpuByPart(server.pid).server / 1_000;
  const end = async () => {
    await server.stop();
    removeDirectory(directory);
  };
  return { ...server, readyCpuMs, end };
}

async function received(): Promise<number> {
  return ((await (await fetch(receiver)).json()) as { events: number }).events;
}

/** Sends events, waits until the receiver has all of them, and returns the CPU time for each. */
async function costOf(
  server: Awaited<ReturnType<typeof startOn>>,
  writeKeys: string[],
  { count = events, copies = 1 },
) {
  await fetch(receiver, { method: "DELETE" });
  const before = cpuByPart(server.pid);
  await sendPixels(`${server.dataPlane}/pixel/v1/track?writeKey=@K&${QUERY}`, {
    count,
    rate: Number(values.rate),
    users: USERS,
    writeKeys,
    burst: Number(values.burst),
  });
  await waitFor(async () => (await received()) >= count * copies);
  await Bun.sleep(SETTLE_MS);
  const cpu = cpuBetween(before, cpuByPart(server.pid));
  return { server: cpu.server / count, guests: cpu.guests / count };
}

/** A server of one size that runs one of the executables, and what its rounds have cost. */
interface Case {
  name: string;
  command: string;
  copies: number;
  writeKeys: string[];
  server: Awaited<ReturnType<typeof startOn>>;
  rounds: Awaited<ReturnType<typeof costOf>>[];
}

async function costs() {
  const names = Object.keys(sizes).filter((name) => new RegExp(values.only).test(name));
  const groups = Map.groupBy(names, (name) => sizes[name]!.workspaces !== undefined);
  const rows = [];
  for (const group of groups.values()) rows.push(...(await costsOf(group)));
  return rows;
}

async function costsOf(names: string[]) {
  const cases: Case[] = [];
  for (const name of names) {
    const { directory, writeKeys } = await fill(sizes[name]!);
    const copies = Math.max(1, sizes[name]!.active);
    for (const command of commands) {
      const server = await startOn(command, directory);
      cases.push({ name, command, copies, writeKeys, server, rounds: [] });
    }
    removeDirectory(directory);
  }
  for (let round = 0; round < WARM_ROUNDS + rounds; round++) {
    for (const one of round % 2 === 0 ? cases : cases.toReversed()) {
      const cost = await costOf(one.server, one.writeKeys, one);
      if (round >= WARM_ROUNDS) one.rounds.push(cost);
    }
  }
  for (const { server } of cases) await server.end();
  return cases.map(({ name, command, rounds }) => {
    const first = cases.find((one) => one.command === command)!;
    const total = totalOf(rounds);
    return {
      case: name,
      command,
      "µs an event": round2(median(total)),
      least: round2(Math.min(...total)),
      most: round2(Math.max(...total)),
      guests: round2(median(rounds.map(({ guests }) => guests))),
      "× first": round2(median(total) / median(totalOf(first.rounds))),
    };
  });
}

async function memory() {
  const rows = [];
  const none = await fill({ active: 1 });
  const idle = await fill({ active: 1, idle: MEMORY_IDLE });
  const active = await fill({ active: MEMORY_ACTIVE });
  for (const command of commands) {
    const base = await memoryOf(command, none, 1);
    const kib = (bytes: number, count: number) => round2((bytes - base) / count / 1_024);
    const idleBytes = await memoryOf(command, idle, 1);
    const activeBytes = await memoryOf(command, active, MEMORY_ACTIVE);
    rows.push({
      command,
      "KiB an idle destination": kib(idleBytes, MEMORY_IDLE),
      "KiB an active destination": kib(activeBytes, MEMORY_ACTIVE),
    });
  }
  for (const { directory } of [none, idle, active]) removeDirectory(directory);
  return rows;
}

/** Resident bytes of the server after it has delivered a few events to each active destination. */
async function memoryOf(
  command: string,
  filled: { directory: string; writeKeys: string[] },
  copies: number,
) {
  const server = await startOn(command, filled.directory);
  for (let round = 0; round < 3; round++) {
    await costOf(server, filled.writeKeys, { count: 10, copies });
  }
  await Bun.sleep(SETTLE_MS);
  const status = readFileSync(`/proc/${server.pid}/status`, "latin1");
  await server.end();
  return Number(/^RssAnon:\s+(\d+)/m.exec(status)![1]) * 1_024;
}

async function starts() {
  const { directory } = await fill({ active: 0, idle: START_DESTINATIONS });
  const rows = [];
  const cpu = commands.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [n, command] of commands.entries()) {
      const server = await startOn(command, directory);
      cpu[n]!.push(server.readyCpuMs);
      await server.end();
    }
  }
  for (const [n, command] of commands.entries()) {
    const ms = round2(median(cpu[n]!));
    rows.push({ command, destinations: START_DESTINATIONS, "CPU ms until ready": ms });
  }
  removeDirectory(directory);
  return rows;
}
