/**
 * Measures the cost of user code in a guest: rates against the same function called directly, in
 * QuickJS and in a worker; cold starts; memory of one more guest; and the delay that a workspace
 * in an endless loop causes another workspace.
 *
 * Engines alternate after a few batches, and every batch is timed alone: other load of the machine
 * disturbs all engines, but not the fastest tenth of their batches.
 *
 *   bun bench/sandbox.ts [--rounds 60] [--command dist/pixelmill]
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { pino } from "pino";
import { createSandbox, type GuestSandbox } from "../src/sandbox/guest-sandbox.ts";
import { type Program, type ProgramBatch, unsharedMetadata } from "../src/sandbox/program.ts";
import { report, round2 } from "./report.ts";
import { directEngine, type Engine, quickjsEngine, workerEngine } from "./sandbox-engines.ts";
import { benchCode, benchEvents } from "./sandbox-events.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "60" },
    command: { type: "string", default: "dist/pixelmill" },
  },
});
// Guests start in another directory, so the path must be absolute.
const executable = existsSync(values.command) ? [resolve(values.command)] : undefined;
const command = executable ?? [process.execPath, `${import.meta.dir}/../src/main.ts`];
const guestCommand = [...command, "guest"];
const texts = benchEvents(512);

let programs = 0;
function program(workspaceId: string, code = benchCode): Program {
  programs += 1;
  const id = `program-${programs}`;
  return {
    ...{ id, workspaceId, language: "javascript", name: "bench", code },
    ...{ libraries: [], credentials: {} },
  };
}
const batchOf = (events: readonly string[]): ProgramBatch => ({
  events: events.map((event) => Buffer.from(event)),
  metadata: events.map(() =>
    unsharedMetadata({ sourceId: "source-1", workspaceId: "workspace-1" }),
  ),
});
const open = () =>
  createSandbox({
    guestCommand,
    insecure: false,
    log: pino({ level: "error" }, pino.destination(2)),
  });
const quantile = (numbers: number[], share: number) =>
  numbers.sort((a, b) => a - b)[Math.floor(share * numbers.length)] ?? 0;
const median = (numbers: number[]) => quantile(numbers, 0.5);

async function rates(): Promise<void> {
  const sandbox = open();
  const bench = program("w1");
  const batches = new Map<number, ProgramBatch[]>();
  const guest = (inFlight: number): Engine => ({
    name: inFlight === 1 ? "guest" : `guest, ${inFlight} batches in flight`,
    async run(events) {
      const list = batches.get(events.length) ?? [batchOf(events)];
      batches.set(events.length, list);
      await Promise.all(Array.from({ length: inFlight }, () => sandbox.run(bench, list[0]!)));
      return inFlight * events.length;
    },
    async close() {},
  });
  const direct = directEngine(benchCode);
  const engines = [direct, guest(1), guest(2), workerEngine(benchCode)];
  engines.push(await quickjsEngine(benchCode));
  const rows: Record<string, string | number>[] = [];
  for (const size of [1, 10, 100]) {
    const events = texts.slice(0, size);
    const times = new Map<Engine, number[]>(engines.map((engine) => [engine, []]));
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const engine of engines) await timeTurn(engine, events, times.get(engine)!);
    }
    const base = times.get(direct)!;
    for (const engine of engines) {
      const own = times.get(engine)!;
      rows.push({
        "batch of": size,
        engine: engine.name,
        "events per second": Math.round(1_000 / quantile(own, 0.1)),
        "ratio to direct": round2(quantile(base, 0.1) / quantile(own, 0.1)),
        "median ratio to direct": round2(median(base) / median(own)),
      });
    }
  }
  for (const engine of engines) await engine.close();
  await sandbox.close();
  await report("sandbox", rows);
}

const TURN_MS = 10;

/** Milliseconds per event of each batch that fits in a turn; the first one warms up. */
async function timeTurn(engine: Engine, events: readonly string[], times: number[]) {
  await engine.run(events);
  const end = performance.now() + TURN_MS;
  while (performance.now() < end) {
    const start = performance.now();
    const count = await engine.run(events);
    times.push((performance.now() - start) / count);
  }
}

/** Measures cold starts from source to first result, in workspaces without a guest. */
async function coldStarts(): Promise<number[]> {
  const sandbox = open();
  const times: number[] = [];
  const one = batchOf(texts.slice(0, 1));
  for (let i = 0; i < 40; i += 1) {
    // The next spare guest is not warm yet: a warm spare would hide the start.
    const start = performance.now();
    await sandbox.check(program(`cold-${i}`), one);
    times.push(performance.now() - start);
  }
  await sandbox.close();
  return times.slice(5);
}

async function memoryPerGuest(): Promise<number> {
  const sandbox = open();
  const one = batchOf(texts.slice(0, 10));
  const sizes: number[] = [];
  for (let i = 0; i < 12; i += 1) {
    await sandbox.run(program(`memory-${i}`), one);
    sizes.push(guestPssKib());
  }
  await sandbox.close();
  return (sizes.at(-1)! - sizes[3]!) / (sizes.length - 4) / 1_024;
}

/** Proportional set size of all guests; only root can read it. */
function guestPssKib(): number {
  let total = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ")[1];
      if (Number(parent) !== process.pid) continue;
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
      total += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
    } catch {
      // The process has ended since the listing.
    }
  }
  return total;
}

/** Measures a batch of 100 events, alone and while another workspace runs an endless loop. */
async function delayByBurning(): Promise<{ calm: number; burning: number }> {
  const sandbox = open();
  const modest = program("modest");
  const batch = batchOf(texts.slice(0, 100));
  const calm: number[] = [];
  const burning: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    await timeBatches(sandbox, modest, batch, calm);
    const looping = program(`burns-${round}`, "export const transformEvent = () => { for (;;); }");
    const burn = sandbox.run(looping, batchOf(texts.slice(0, 1)));
    await Bun.sleep(100);
    await timeBatches(sandbox, modest, batch, burning);
    await burn;
  }
  await sandbox.close();
  return { calm: median(calm), burning: median(burning) };
}

async function timeBatches(
  sandbox: GuestSandbox,
  one: Program,
  batch: ProgramBatch,
  times: number[],
) {
  const end = performance.now() + 1_500;
  while (performance.now() < end) {
    const start = performance.now();
    await sandbox.run(one, batch);
    times.push(performance.now() - start);
  }
}

await rates();
const cold = await coldStarts();
const pss = await memoryPerGuest();
const { calm, burning } = await delayByBurning();
await report("sandbox-guests", [
  { measure: "cold start to first result, p50 ms", value: round2(median(cold)) },
  { measure: "cold start to first result, minimum ms", value: round2(Math.min(...cold)) },
  { measure: "memory per additional guest, PSS MiB", value: round2(pss) },
  { measure: "batch of 100, alone, p50 ms", value: round2(calm) },
  { measure: "batch of 100 beside a workspace in a loop, p50 ms", value: round2(burning) },
  { measure: "ratio of the two batches", value: round2(burning / calm) },
]);
