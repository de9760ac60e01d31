/**
 * Measures the CPU cost of an event from the pixel to its delivery, over all pixelmill processes,
 * with a real receiver on this machine: with a backlog (pixels as fast as they are answered), at
 * even rates, and for pixels without a destination beside idle destinations. Rounds alternate
 * between cases and between executables, so that a busy machine affects all alike.
 *
 *   npm run build && bun bench/pipeline.ts [--command dist/pixelmill,OTHER] [--rounds 5]
 *     [--events 10000] [--rates 5,50,500,2000] [--idle 0,100,1000] [--only PATTERN] [--seconds 4]
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { removeDirectory, type Server, startServer, waitFor } from "../test/e2e/server.ts";
import { boundCommand } from "../test/shared.ts";
import { type CpuByPart, cpuBetween, cpuByPart } from "./cpu.ts";
import { median } from "./load.ts";
import { type Case, cases, code, library, pixelOf } from "./pipeline-cases.ts";
import { report, round2 } from "./report.ts";
import { sendPixels } from "./send-pixels.ts";

const { values } = parseArgs({
  options: {
    command: { type: "string", default: "dist/pixelmill" },
    rounds: { type: "string", default: "5" },
    events: { type: "string", default: "10000" },
    rates: { type: "string", default: "5,50,500,2000" },
    idle: { type: "string", default: "0,100,1000" },
    only: { type: "string", default: "" },
    seconds: { type: "string", default: "4" },
  },
});
const rounds = Number(values.rounds);
const numbers = (text: string) => text.split(",").filter(Boolean).map(Number);
const USERS = 5_000;
const DRAIN_MS_MAX = 120_000;

interface Sink {
  url: string;
  read(): Promise<{ events: number; requests: number; p50: number; p99: number }>;
  reset(): Promise<void>;
  stop(): void;
}

interface Lane {
  command: string;
  server: Server;
  sink: Sink;
  one: Case;
  pixel: string;
  /** Path of a file destination's file. */
  file: string | undefined;
}

async function startSink(): Promise<Sink> {
  const child = Bun.spawn(
    [...boundCommand, process.execPath, `${import.meta.dir}/pipeline-sink.ts`],
    {
      stdout: "pipe",
    },
  );
  const first = await child.stdout.getReader().read();
  const url = `http://127.0.0.1:${new TextDecoder().decode(first.value).trim()}/`;
  return {
    url,
    read: async () => (await (await fetch(url)).json()) as any,
    reset: async () => void (await fetch(url, { method: "DELETE" })),
    stop: () => child.kill(),
  };
}

async function make(server: Server, path: string, body: unknown): Promise<any> {
  const answer = await server.api("POST", path, body);
  if (answer.status > 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function connect(server: Server, sourceId: string, type: string, config: unknown) {
  const { destination } = await make(server, "/v2/destinations", { name: "To", type, config });
  await make(server, "/v2/connections", { sourceId, destinationId: destination.id });
  return destination.id as string;
}

async function addLane(command: string, server: Server, one: Case): Promise<Lane> {
  const sink = await startSink();
  const { source } = await make(server, "/v2/sources", { name: one.name, type: "http" });
  const to = { webhookUrl: sink.url, batchSize: one.batchSize };
  const config = one.type === "file" ? { path: `${source.id}.jsonl` } : to;
  const destinationId = await connect(server, source.id, one.type, config);
  const { body } = await server.api("GET", "/v2/workspace");
  if (one.transform) {
    const ids = { destinationIds: [destinationId], language: "javascript" };
    await make(server, "/transformations?publish=true", { name: one.name, code, ...ids });
  }
  const pixel = server.dataPlane + pixelOf(source.writeKey, one);
  const files = join(server.directory, "data/files", body.workspace.id);
  const file = one.type === "file" ? join(files, `${source.id}.jsonl`) : undefined;
  return { command, server, sink, one, pixel, file };
}

async function metricsOf(server: Server): Promise<string> {
  return await (await fetch(`${server.controlPlane}/metrics`)).text();
}

/**
 * Number of events that a lane has delivered, read at the receiver, so that the server has no cost.
 */
async function delivered({ sink, file }: Lane): Promise<number> {
  if (file === undefined) return (await sink.read()).events;
  const bytes = existsSync(file) ? readFileSync(file) : "";
  return bytes.toString("latin1").split("\n").length - 1;
}

interface Run {
  cpu: CpuByPart;
  p50: number;
  p99: number;
  perRequest: number;
}

/** Runs one round; returns the CPU time per event in µs. */
async function run(lane: Lane, count: number, rate: number): Promise<Run> {
  await lane.sink.reset();
  if (lane.file !== undefined) rmSync(lane.file, { force: true });
  const start = cpuByPart(lane.server.pid);
  await sendPixels(lane.pixel, { count, rate, users: USERS });
  const isThere = async () => (await delivered(lane)) >= count || undefined;
  await waitFor(isThere, `${lane.one.name}: ${count} events`, DRAIN_MS_MAX);
  // The commit of the positions to disk follows a little later.
  await Bun.sleep(300);
  const cpu = cpuBetween(start, cpuByPart(lane.server.pid));
  for (const part of ["server", "ingest", "guests"] as const) cpu[part] /= count;
  const { events, requests, p50, p99 } = await lane.sink.read();
  return { cpu, p50, p99, perRequest: events / requests };
}

function rowOf(name: string, command: string, runs: Run[]) {
  const of = (value: (run: Run) => number) => round2(median(runs.map(value)));
  const sum = of(({ cpu }) => cpu.server + cpu.ingest + cpu.guests);
  return {
    case: name,
    command,
    "events/CPU-s": Math.round(1e6 / sum),
    "µs an event": sum,
    server: of(({ cpu }) => cpu.server),
    ingest: of(({ cpu }) => cpu.ingest),
    guests: of(({ cpu }) => cpu.guests),
    "a request": of(({ perRequest }) => perRequest) || 0,
    "p50 ms": of(({ p50 }) => p50),
    "p99 ms": of(({ p99 }) => p99),
  };
}

/** Measures every lane in turn, `rounds` times. */
async function measure(name: string, lanes: Lane[], count: number, rate: number) {
  const runs = new Map<Lane, Run[]>(lanes.map((lane) => [lane, []]));
  for (let round = 0; round < rounds; round++) {
    for (const lane of lanes) {
      const events = lane.one.bytes > 10_000 ? Math.ceil(count / 10) : count;
      runs.get(lane)!.push(await run(lane, events, rate));
    }
  }
  return [...runs].map(([lane, all]) => rowOf(`${lane.one.name}, ${name}`, lane.command, all));
}

async function start(command: string): Promise<Server> {
  const server = await startServer({ command: [resolve(command)] });
  const kit = { name: "Shop kit", importName: "shopKit", language: "javascript", code: library };
  await make(server, "/libraries?publish=true", kit);
  return server;
}

async function stop(server: Server): Promise<void> {
  await server.stop();
  removeDirectory(server.directory);
}

const commands = values.command.split(",");
const chosen = cases.filter(({ name }) => new RegExp(values.only).test(name));

async function measureCases() {
  const servers = await Promise.all(commands.map(start));
  const lanes: Lane[] = [];
  for (const one of chosen) {
    for (const [n, server] of servers.entries()) {
      lanes.push(await addLane(commands[n]!, server, one));
    }
  }
  // Warm-up: the JIT compiles the code after a few thousand events.
  for (const lane of lanes) await run(lane, lane.one.bytes > 10_000 ? 500 : 5_000, 0);
  const rows = [];
  const events = Number(values.events);
  if (events > 0) rows.push(...(await measure("backlog", lanes, events, 0)));
  const slow = lanes.filter(({ one }) => one.bytes < 10_000);
  for (const rate of numbers(values.rates)) {
    const count = Math.max(20, rate * Number(values.seconds));
    rows.push(...(await measure(`${rate}/s`, slow, count, rate)));
  }
  for (const { sink } of lanes) sink.stop();
  for (const server of servers) await stop(server);
  return rows;
}

const IDLE_RATE = 300;

/** Measures pixels of a source without destinations, beside idle destinations of another source. */
async function measureIdle(counts: number[]) {
  const rows = [];
  const sink = await startSink();
  const all = await Promise.all(
    commands.map(async (command) => {
      const server = await start(command);
      const { source } = await make(server, "/v2/sources", { name: "Wanted", type: "http" });
      const other = await make(server, "/v2/sources", { name: "Unwanted", type: "http" });
      const pixel = server.dataPlane + pixelOf(other.source.writeKey, cases[0]!);
      return { command, server, sourceId: source.id as string, pixel, destinations: 0 };
    }),
  );
  for (const count of counts) {
    for (const one of all) {
      const config = { webhookUrl: sink.url, batchSize: 100 };
      for (; one.destinations < count; one.destinations++) {
        await connect(one.server, one.sourceId, "webhook", config);
      }
      await sendPixels(one.pixel, { count: 1_000, rate: IDLE_RATE, users: USERS });
    }
    const costs = new Map(
      all.map((one) => [one, { pixel: [] as number[], scrape: [] as number[] }]),
    );
    for (let round = 0; round < rounds; round++) {
      for (const one of all) {
        const sent = IDLE_RATE * 3;
        const server = async (work: () => Promise<unknown>) => {
          const before = cpuByPart(one.server.pid).server;
          await work();
          return cpuByPart(one.server.pid).server - before;
        };
        const { pixel, scrape } = costs.get(one)!;
        pixel.push(
          (await server(() =>
            sendPixels(one.pixel, { count: sent, rate: IDLE_RATE, users: USERS }),
          )) / sent,
        );
        scrape.push((await server(() => metricsOf(one.server))) / 1_000);
      }
    }
    for (const [{ command }, { pixel, scrape }] of costs) {
      const row = { idle: count, command, "server µs per pixel": round2(median(pixel)) };
      rows.push({ ...row, "ms per scrape of /metrics": round2(median(scrape)) });
    }
  }
  sink.stop();
  for (const { server } of all) await stop(server);
  return rows;
}

if (chosen.length > 0) await report("pipeline", await measureCases());
const idle = numbers(values.idle);
if (idle.length > 0) await report("pipeline-idle", await measureIdle(idle));
