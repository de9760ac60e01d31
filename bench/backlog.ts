/**
 * Measures the CPU cost of delivering a backlog, over all pixelmill processes: the events are held
 * in the log by a destination that cannot be reached, and released when its config is corrected.
 * Compares executables with each other and with a floor: the smallest script that reads the same
 * log, builds the same events and writes them to the same receiver with a plain library. Rounds
 * alternate between executables, so that a busy machine affects all alike. The column `held` has
 * what the server and its guests spend per event before the release, which is not in the others.
 * The JIT compilers take up to a quarter of the time, differing by round; `compiled` is the cost
 * without them.
 *
 *   npm run build && bun bench/backlog.ts [--command dist/pixelmill,OTHER] [--rounds 3]
 *     [--events 40000] [--only PATTERN]
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createEgress } from "../src/egress/egress.ts";
import { removeDirectory, type Server, startServer, waitFor } from "../test/e2e/server.ts";
import { boundCommand } from "../test/shared.ts";
import { type CpuByPart, cpuBetween, cpuByPart } from "./cpu.ts";
import { cases as databaseCases } from "./destination-cases.ts";
import { kafkaCases } from "./kafka-case.ts";
import { median } from "./load.ts";
import { objectCases } from "./object-cases.ts";
import { code } from "./pipeline-cases.ts";
import { report, round2 } from "./report.ts";
import { sendPixels } from "./send-pixels.ts";

const { values } = parseArgs({
  options: {
    command: { type: "string", default: "dist/pixelmill" },
    rounds: { type: "string", default: "3" },
    events: { type: "string", default: "40000" },
    only: { type: "string", default: "" },
  },
});
const rounds = Number(values.rounds);
const events = Number(values.events);
const commands = values.command.split(",");
const USERS = 5_000;
const DRAIN_MS_MAX = 300_000;
const CLOSED_PORT = 9;
/** Rounds in which the JIT compiles most of the code, which are not counted. */
const WARM_ROUNDS = 4;

/** A receiver on this machine. */
interface Receiver {
  type: string;
  config: Record<string, unknown>;
  /** Members of the config under which the receiver cannot be reached. */
  unreachable: Record<string, unknown>;
  end(): Promise<void>;
}

interface Case {
  name: string;
  transform?: boolean;
  missing?: string | undefined;
  start(): Promise<Receiver>;
}

const plainCode = code.replace(/^import.*\n/, "").replace("mask(t.email)", '"***"');
const jsCode = plainCode.replace("total(p.items)", "Math.round((p.price ?? 0) * 100) / 100");

function webhookCase(name: string, batchSize: number, transform = false): Case {
  return {
    name,
    transform,
    async start() {
      const script = `${import.meta.dir}/pipeline-sink.ts`;
      const child = Bun.spawn([...boundCommand, process.execPath, script], { stdout: "pipe" });
      const first = await child.stdout.getReader().read();
      const port = new TextDecoder().decode(first.value).trim();
      const to = (at: string | number) => ({ webhookUrl: `http://127.0.0.1:${at}/` });
      return {
        type: "webhook",
        config: { ...to(port), batchSize },
        unreachable: to(CLOSED_PORT),
        end: async () => child.kill(),
      };
    },
  };
}

/** Config members by kind of destination that aim at a closed port. */
const closed: Record<string, Record<string, unknown>> = {
  postgres: { port: CLOSED_PORT },
  clickhouse: { url: `http://127.0.0.1:${CLOSED_PORT}` },
  s3: { endpoint: `http://127.0.0.1:${CLOSED_PORT}` },
  kafka: { brokers: `127.0.0.1:${CLOSED_PORT}` },
};

const cases: Case[] = [
  webhookCase("webhook by 100", 100),
  webhookCase("webhook by 1", 1),
  webhookCase("webhook by 100, JavaScript", 100, true),
  ...[...databaseCases, ...kafkaCases, ...objectCases]
    .filter(({ name }) => !name.startsWith("file") && name !== "kafka gzip")
    .map(({ name, missing, start }) => ({
      name,
      missing,
      async start() {
        const running = await start(createEgress({ allow: ["127.0.0.0/8"] }));
        const type = running.kind.kind;
        const end = () => running.end();
        return { type, config: running.config, unreachable: closed[type]!, end };
      },
    })),
].filter(({ name, missing }) => missing === undefined && new RegExp(values.only).test(name));

/** Query of ten fields besides the user. */
const QUERY =
  "userId=user-@U&event=Order%20Completed&context.library.name=js&context.locale=en-GB" +
  "&properties.page_url=https%3A%2F%2Fexample.com%2Fp%2Fshoes%3Fa%3Db" +
  "&properties.page_title=Pricing%20%E2%80%93%20%C3%84pfel&properties.price=29.99" +
  "&properties.seats=12&properties.plan=growth&properties.is_trial=true&properties.n=@T";

interface Lane {
  command: string;
  server: Server;
  destinationId: string;
  pixel: string;
}

async function call(server: Server, method: string, path: string, body: unknown): Promise<any> {
  const answer = await server.api(method, path, body);
  if (answer.status > 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function addLane(command: string, one: Case, receiver: Receiver): Promise<Lane> {
  const server = await startServer({ command: [resolve(command)] });
  const { type, config } = receiver;
  const { source } = await call(server, "POST", "/v2/sources", { name: "Site", type: "http" });
  const body = { name: "To", type, config };
  const { destination } = await call(server, "POST", "/v2/destinations", body);
  const ends = { sourceId: source.id, destinationId: destination.id };
  await call(server, "POST", "/v2/connections", ends);
  if (one.transform) {
    const made = { name: "Shape", code: jsCode, language: "javascript" };
    const body = { ...made, destinationIds: [destination.id] };
    await call(server, "POST", "/transformations?publish=true", body);
  }
  const pixel = `${server.dataPlane}/pixel/v1/track?writeKey=${source.writeKey}&${QUERY}`;
  return { command, server, destinationId: destination.id, pixel };
}

async function configure(lane: Lane, { config }: Receiver, over: object): Promise<void> {
  const path = `/v2/destinations/${lane.destinationId}`;
  await call(lane.server, "PUT", path, { name: "To", config: { ...config, ...over } });
}

async function delivered({ server }: Lane): Promise<number> {
  const text = await (await fetch(`${server.controlPlane}/metrics`)).text();
  const lines = text.match(/^pixelmill_lane_events_total\{.*outcome="delivered".* (\d+)$/gm) ?? [];
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** CPU time per event in µs. */
interface Round extends CpuByPart {
  /** Cost of the server and its guests while events arrived that could not be delivered. */
  held: number;
}

async function run(lane: Lane, receiver: Receiver): Promise<Round> {
  const before = await delivered(lane);
  await configure(lane, receiver, receiver.unreachable);
  const empty = cpuByPart(lane.server.pid);
  await sendPixels(lane.pixel, { count: events, rate: 0, users: USERS });
  // The cursor and the segments' flushes follow the last pixel.
  await Bun.sleep(500);
  const start = cpuByPart(lane.server.pid);
  await configure(lane, receiver, {});
  const isThere = async () => {
    await Bun.sleep(200);
    return (await delivered(lane)) - before >= events || undefined;
  };
  await waitFor(isThere, `${events} events`, DRAIN_MS_MAX);
  const { server, ingest, guests, compilers } = cpuBetween(start, cpuByPart(lane.server.pid));
  const held = cpuBetween(empty, start);
  return {
    server: server / events,
    ingest: ingest / events,
    guests: guests / events,
    compilers: compilers / events,
    held: (held.server + held.guests) / events,
  };
}

/** CPU time per event of the floor in µs; undefined for a receiver without a floor. */
async function floor(
  { server }: Lane,
  receiver: Receiver,
  code: string[],
): Promise<number | undefined> {
  const config = JSON.stringify(receiver.config);
  const argv = [join(server.directory, "data"), receiver.type, config, ...code];
  const child = Bun.spawn(
    [...boundCommand, process.execPath, `${import.meta.dir}/backlog-floor.ts`, ...argv],
    {
      stdout: "pipe",
      stderr: "inherit",
    },
  );
  const text = await new Response(child.stdout).text();
  return text === "" ? undefined : Number(text);
}

const sumOf = ({ server, ingest, guests }: CpuByPart) => server + ingest + guests;

/** Costs per event in µs, at the median of rounds: of all threads, and without the compilers. */
function costOf(all: readonly Round[]): { sum: number; compiled: number } {
  const sum = median(all.map(sumOf));
  return { sum, compiled: median(all.map((cpu) => sumOf(cpu) - cpu.compilers)) };
}

function memoryOf({ server }: Lane): number {
  const status = readFileSync(`/proc/${server.pid}/status`, "latin1");
  return Math.round(Number(status.match(/VmHWM:\s+(\d+)/)![1]) / 1_024);
}

async function measure(one: Case): Promise<Record<string, string | number>[]> {
  const receiver = await one.start();
  const lanes = await Promise.all(commands.map((command) => addLane(command, one, receiver)));
  try {
    const runs = new Map<Lane, Round[]>(lanes.map((lane) => [lane, []]));
    for (let round = 0; round < WARM_ROUNDS + rounds; round++) {
      for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) {
        const cpu = await run(lane, receiver);
        if (round >= WARM_ROUNDS) runs.get(lane)!.push(cpu);
      }
    }
    const least = await floor(lanes.at(-1)!, receiver, one.transform ? [jsCode] : []);
    const [first] = lanes.map((lane) => costOf(runs.get(lane)!));
    return lanes.map((lane) => {
      const all = runs.get(lane)!;
      const sums = all.map(sumOf);
      const { sum, compiled } = costOf(all);
      return {
        case: one.name,
        command: lane.command,
        "events/CPU-s": Math.round(1e6 / sum),
        "µs an event": round2(sum),
        spread: `${round2(Math.min(...sums))}–${round2(Math.max(...sums))}`,
        server: round2(median(all.map((cpu) => cpu.server))),
        guests: round2(median(all.map((cpu) => cpu.guests))),
        held: round2(median(all.map((cpu) => cpu.held))),
        compiled: round2(compiled),
        "× first": round2(first!.sum / sum),
        "× first, compiled": round2(first!.compiled / compiled),
        "× floor": least === undefined ? "" : round2(sum / least),
        "peak MiB": memoryOf(lane),
      };
    });
  } finally {
    for (const { server } of lanes) {
      await server.stop();
      removeDirectory(server.directory);
    }
    await receiver.end();
  }
}

const rows: Record<string, string | number>[] = [];
for (const one of cases) rows.push(...(await measure(one)));
await report("backlog", rows);
process.exit(0);
