/**
 * Crash test of a long replay whose server is killed in the middle, beside live events: every event
 * of the period arrives and no other one, each user's events in order; only events in flight at the
 * crash arrive twice. Prints the latency of live events alone and beside the replay.
 *
 *   npm run replay-crash [EVENTS] [RATE]      exits with 1 when a promise was broken
 */
import { join } from "node:path";
import { eventRecordCodec } from "../../src/event/record.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { createLogger } from "../../src/observe/log.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { Arrivals, type Verdict } from "./arrivals.ts";

export interface CrashOptions {
  /** Events of the replay; a tenth as many lie before, and after, its period. */
  events: number;
  rate: number;
  /** Duration of the measurement of live events alone, before and after the replay. */
  aloneMs: number;
}

export interface CrashReport extends Verdict {
  seconds: number;
  /** Number of events that had arrived when the server was killed. */
  killedAt: number;
  /** Latency from pixel to receiver in milliseconds: median and 99th percentile. */
  alone: Latency;
  beside: Latency;
}

interface Latency {
  events: number;
  p50: number;
  p99: number;
}

const USERS = 1_000;
const LIVE_PER_SECOND = 50;
const FLUSH = 256;
const code = "export function transformEvent(event) { return event; }";
const flags = ["--events-retention-age", "86400"];
const patienceMs = 3_600_000;

export async function replayWithCrash(options: CrashOptions): Promise<CrashReport> {
  const directory = temporaryDirectory();
  const arrivals = new Arrivals();
  let server = await startServer({ directory, flags });
  const config = { batchSize: 100 };
  const live = await route(server, { url: arrivals.url, code, config });
  const { source } = (await server.api("POST", "/v2/sources", { name: "Earlier" })).body;
  await server.stop();
  const { from, to, first } = await fill(directory, source.id, options.events);
  server = await startServer({ directory, flags });
  const load = new Load(() => server, live.writeKey);
  try {
    await arrivals.during("alone", () => Bun.sleep(options.aloneMs));
    const begun = performance.now();
    const { destinationId } = live;
    const asked = { sourceId: source.id, destinationId, from, to, rate: options.rate };
    const { body } = await server.api("POST", "/v2/replays", asked);
    const get = async () => (await server.api("GET", `/v2/replays/${body.replay.id}`)).body.replay;
    // Kills the server within a request, whose events have arrived without a response.
    const killed = arrivals.reach(options.events / 2, () => server.stop("SIGKILL"));
    await arrivals.during("beside", () => killed);
    const killedAt = arrivals.crashed();
    await load.pause();
    server = await startServer({ directory, flags });
    load.goOn();
    const done = async () => (await get()).state === "done";
    await arrivals.during("beside", () => waitFor(done, "the replay", patienceMs));
    const seconds = (performance.now() - begun) / 1_000;
    await arrivals.during("alone", () => Bun.sleep(options.aloneMs));
    const verdict = arrivals.judge(first, options.events, USERS);
    const latency = { alone: latencyOf(arrivals, "alone"), beside: latencyOf(arrivals, "beside") };
    return { ...verdict, seconds, killedAt, ...latency };
  } finally {
    await load.pause();
    await server.stop();
    arrivals.stop();
    removeDirectory(directory);
  }
}

/** Writes events of the last hour into the server's log. */
async function fill(directory: string, sourceId: string, events: number) {
  const margin = Math.ceil(events / 10);
  const total = events + 2 * margin;
  const start = Date.now() - 3_600_000;
  const timeOf = (n: number) => start + Math.floor((n * 3_000_000) / total);
  // Several events have the first one's time: the period begins with the oldest of them.
  const from = timeOf(margin);
  const to = timeOf(margin + events);
  const isWithin = (n: number) => timeOf(n) >= from && timeOf(n) < to;
  const first = Array.from({ length: total }, (_, n) => n).findIndex(isWithin);
  const log = join(directory, "data/events/0");
  const logger = createLogger("error");
  const writer = await openLogWriter({ directory: log, codec: eventRecordCodec, logger });
  for (let n = 0; n < total; ) {
    const promises: Promise<void>[] = [];
    for (const end = Math.min(n + FLUSH, total); n < end; n++) {
      const query = `userId=user-${n % USERS}&event=Seen&properties.n=${n}`;
      const messageId = crypto.getRandomValues(new Uint8Array(16));
      const record = { type: "track", receivedAt: timeOf(n), sourceId, clientAddress: "" } as const;
      promises.push(writer.append({ ...record, messageId, query }));
    }
    await Promise.all(promises);
  }
  await writer.close();
  return { first, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** Load of live pixels at a steady rate, each with its send time. */
class Load {
  readonly #server: () => Server;
  readonly #writeKey: string;
  readonly #sent = new Set<Promise<unknown>>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(server: () => Server, writeKey: string) {
    this.#server = server;
    this.#writeKey = writeKey;
    this.goOn();
  }

  goOn(): void {
    this.#timer = setInterval(() => {
      const user = `live-${Math.floor(Math.random() * USERS)}`;
      const query = { writeKey: this.#writeKey, userId: user, event: "Live" };
      const sent = pixel(this.#server(), "track", {
        ...query,
        "properties.sentAt": String(Date.now()),
      })
        .catch(() => {})
        .finally(() => this.#sent.delete(sent));
      this.#sent.add(sent);
    }, 1_000 / LIVE_PER_SECOND);
  }

  /** Stops sending; resolves when all sent pixels are answered. */
  async pause(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#sent);
  }
}

function latencyOf(arrivals: Arrivals, phase: string): Latency {
  const sorted = arrivals.latencies(phase).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { events: sorted.length, p50: at(0.5), p99: at(0.99) };
}

if (import.meta.main) {
  const [events = "1000000", rate = "5000"] = process.argv.slice(2);
  const options = { events: Number(events), rate: Number(rate), aloneMs: 20_000 };
  const report = await replayWithCrash(options);
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  process.exit(report.broken.length === 0 ? 0 : 1);
}
