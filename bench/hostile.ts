/**
 * Measures ordinary pixels at a fixed rate: alone, while pixels with URLs of 32,768 bytes arrive,
 * while slow clients hold connections, and while one address repeatedly opens more connections
 * than its limit. Rounds alternate; the p99 of ordinary pixels must not rise.
 *
 *   bun bench/hostile.ts [--seconds 4] [--rounds 3] [--rate 2000] [--command dist/pixelmill]
 */
import { connect } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median, type Paced, pace } from "./load.ts";
import { report, round2 } from "./report.ts";
import { pixelmill } from "./targets.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "3" },
    rate: { type: "string", default: "2000" },
    command: { type: "string", default: "dist/pixelmill" },
  },
});
const seconds = Number(values.seconds);
const CONNECTIONS = 32;
const LONG_RATE = 200;
const SLOW_CLIENTS = 1_000;
const DRIP_MS = 1_000;
const CROWD = 5_000;

const target = await pixelmill({ command: values.command });
const { port } = new URL(target.url);
const longUrl = `${target.url}&properties.text=`.padEnd(
  new URL(target.url).origin.length + 32_768,
  "0123456789abcdef",
);

const ordinary = () =>
  pace(target, { connections: CONNECTIONS, seconds, rate: Number(values.rate) });

/** Conditions under which ordinary pixels are measured. */
const settings: Record<string, () => Promise<Paced>> = {
  alone: ordinary,
  async "with URLs of 32,768 bytes"() {
    const long = { ...target, url: longUrl };
    const [load, other] = await Promise.all([
      ordinary(),
      pace(long, { connections: 8, seconds, rate: LONG_RATE }),
    ]);
    return { ...load, failures: load.failures + other.failures };
  },
  async "with 1,000 slow clients"() {
    const clients = Array.from({ length: SLOW_CLIENTS }, slowClient);
    const load = await ordinary();
    for (const { stop } of clients) stop();
    return load;
  },
  async "with 5,000 connections of one address"() {
    const script = join(import.meta.dir, "../test/http/crowd.ts");
    const command = [process.execPath, script, port, String(CROWD)];
    const crowd = Bun.spawn(command, { stdout: "pipe" });
    await crowd.stdout.getReader().read();
    const load = await ordinary();
    crowd.kill();
    await crowd.exited;
    return load;
  },
};

/**
 * Sends a request head at one byte per second, and reconnects when the server disconnects it.
 */
function slowClient(): { stop: () => void } {
  let stopped = false;
  let socket = open();
  const drip = setInterval(() => socket.write("x"), DRIP_MS);
  function open() {
    const opened = connect(Number(port), "127.0.0.1");
    opened.on("error", () => {});
    opened.on("close", () => {
      if (!stopped) socket = open();
    });
    opened.write("GET /pixel/v1/page?writeKey=");
    return opened;
  }
  return {
    stop() {
      stopped = true;
      clearInterval(drip);
      socket.destroy();
    },
  };
}

const loads = new Map<string, Paced[]>(Object.keys(settings).map((name) => [name, []]));
await ordinary();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const [name, run] of Object.entries(settings)) loads.get(name)!.push(await run());
}
await target.stop();

const p99 = (name: string) => median(loads.get(name)!.map((load) => load.p99Ms));
await report(
  "hostile",
  [...loads].map(([name, of]) => ({
    "ordinary pixels": name,
    "responses per second": Math.round(median(of.map((load) => load.rps))),
    "p50 ms": round2(median(of.map((load) => load.p50Ms))),
    "p99 ms": round2(p99(name)),
    "p99 ratio to alone": round2(p99(name) / p99("alone")),
    failures: of.reduce((sum, load) => sum + load.failures, 0),
  })),
);
