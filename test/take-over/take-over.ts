/**
 * Upgrade test: servers take the sockets of one data directory over from each other, forth and back
 * between two executables, while users send events. At the end each acknowledged event must be at
 * its destination once, in the order of its user.
 *
 *   npm run take-over [TIMES] [REQUESTS_PER_SECOND] [-- --versions=EXECUTABLE,EXECUTABLE]
 *
 * Exits with 1 when a request was refused, or an event is missing, doubled or out of order.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pixelmillCommand } from "../e2e/command.ts";
import { removeDirectory, type Server, startServer, waitFor } from "../e2e/server.ts";
import { TakeOverLoad } from "./load.ts";

export interface TakeOverOptions {
  times: number;
  requestsPerSecond: number;
  /** Number of users of each way to send. */
  users: number;
  /** Pause between two take-overs. */
  quietMs: number;
  /** Commands that start a server, which take turns. */
  versions: readonly string[][];
  onTakeOver?(row: object): void;
}

export interface TakeOverReport {
  requests: number;
  acknowledged: number;
  /** Faults that clients saw, by number. */
  faults: Record<string, number>;
  /** Requests on kept connections that were closed at the same moment, and were repeated. */
  races: number;
  slowestMs: number;
  lost: number;
  doubled: number;
  /** Events that arrived before an earlier one of the same user. */
  disordered: number;
}

export async function takeOvers(options: TakeOverOptions): Promise<TakeOverReport> {
  const { versions, times } = options;
  let server = await startServer({ command: versions[0]! });
  try {
    const writeKey = await createRoute(server);
    const port = Number(new URL(server.dataPlane).port);
    const load = new TakeOverLoad({ ...options, port, writeKey });
    for (let time = 1; time <= times; time++) {
      await Bun.sleep(options.quietMs);
      const { slowestMs } = load;
      load.slowestMs = 0;
      const startedAt = performance.now();
      const successor = await startServer({
        directory: server.directory,
        command: versions[time % versions.length]!,
        flags: ["--take-over"],
      });
      const code = await server.exited();
      if (code !== 0) throw new Error(`The replaced server exited with ${code}`);
      server = successor;
      const ms = Math.round(performance.now() - startedAt);
      options.onTakeOver?.({ time, ms, slowestMs: Math.round(load.slowestMs) });
      load.slowestMs = Math.max(load.slowestMs, slowestMs);
    }
    await Bun.sleep(options.quietMs);
    await load.stop();
    const report = await judge(server, load);
    await server.stop();
    return report;
  } finally {
    await server.stop("SIGKILL");
    removeDirectory(server.directory);
  }
}

/** Creates a source whose events a file gets. Returns the write key. */
async function createRoute(server: Server): Promise<string> {
  const create = async (type: string, body: object) => {
    const answer = await server.api("POST", `/v2/${type}`, body);
    if (answer.status > 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const { source } = await create("sources", { name: "Website", type: "http" });
  const { destination } = await create("destinations", {
    ...{ name: "File", type: "file", config: { path: "events.jsonl" } },
  });
  const { id: sourceId, writeKey } = source;
  await create("connections", { sourceId, destinationId: destination.id });
  return writeKey;
}

/**
 * Waits until all acknowledged events have arrived, and compares them with those that were sent.
 */
async function judge(server: Server, load: TakeOverLoad): Promise<TakeOverReport> {
  const { events } = load;
  let seen = arrivals(server);
  const isThrough = () => {
    seen = arrivals(server);
    return seen.numbers.size >= events.acknowledged;
  };
  await waitFor(isThrough, "all acknowledged events", 60_000).catch(() => {});
  const lost = [...events.acknowledgedOf("")].filter(
    ([user, number]) => !seen.numbers.has(`${user} ${number}`),
  );
  const faults: Record<string, number> = {};
  for (const fault of load.faults) faults[fault] = (faults[fault] ?? 0) + 1;
  return {
    requests: load.requests,
    acknowledged: events.acknowledged,
    faults,
    races: load.races,
    slowestMs: Math.round(load.slowestMs),
    lost: lost.length,
    doubled: seen.doubled,
    disordered: seen.disordered,
  };
}

/** Reads the events that have arrived at the destination. */
function arrivals({ directory }: Server) {
  const files = join(directory, "data/files");
  const paths = readdirSync(files, { recursive: true, encoding: "utf8" });
  const path = paths.find((it) => it.endsWith("events.jsonl"));
  const text = path === undefined ? "" : readFileSync(join(files, path), "utf8");
  const numbers = new Set<string>();
  const messageIds = new Set<string>();
  const last = new Map<string, number>();
  let doubled = 0;
  let disordered = 0;
  for (const line of text.split("\n").slice(0, -1)) {
    const { userId, messageId, properties } = JSON.parse(line);
    const number = Number(properties.n);
    const key = `${userId} ${number}`;
    if (numbers.has(key) || messageIds.has(messageId)) doubled++;
    if (number < (last.get(userId) ?? 0)) disordered++;
    numbers.add(key);
    messageIds.add(messageId);
    last.set(userId, number);
  }
  return { numbers, doubled, disordered };
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { versions: { type: "string" } },
  });
  const [times = "10", rate = "2000"] = positionals;
  const report = await takeOvers({
    ...{ times: Number(times), requestsPerSecond: Number(rate), users: 100, quietMs: 2_000 },
    versions: values.versions?.split(",").map((path) => [path]) ?? [pixelmillCommand],
    onTakeOver: (row) => process.stdout.write(`${JSON.stringify(row)}\n`),
  });
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  const { faults, lost, doubled, disordered } = report;
  process.exitCode = Object.keys(faults).length + lost + doubled + disordered === 0 ? 0 : 1;
}
