/**
 * Crash test: nodes and brokers are killed, hang and restart under a load of pixels and API calls.
 * At the end each acknowledged pixel must be at its destination or among the dead letters.
 *
 *   npm run crash [ROUNDS] [-- --kafka] [--only=WORD] [--versions=EXECUTABLE,EXECUTABLE]
 *
 * Runs one node on its disk, or with `--kafka` three nodes on three brokers; with `--only`, only
 * the failures whose name contains the word. With `--versions`, a node changes to the next
 * executable before each failure, forth and back. Exits with 1 on a violation.
 */
import { judge, type Verdict } from "../soak/oracle.ts";
import { type ActOptions, actsOf } from "./acts.ts";
import { lettersFaults } from "./letters.ts";
import { Load, type LoadOptions } from "./load.ts";
import { Site, type SiteOptions } from "./site.ts";

export interface CrashOptions extends SiteOptions, LoadOptions, ActOptions {
  rounds: number;
  /** Word that the name of an act must contain. */
  only?: string;
  /** Pause between two rounds, in which nothing fails. */
  quietMs: number;
  onRound(row: object): void;
}

export interface CrashReport {
  verdict: Verdict;
  acknowledged: number;
  /** Responses to pixels by status; 0 is a broken connection or a timeout. */
  pixels: Record<number, number>;
  calls: Record<number, number>;
  replayed: number;
  /** Violations in sentences; empty if there are none. */
  broken: string[];
}

/** Longest time until all replayed dead letters have arrived. */
const REPLAY_MS_MAX = 120_000;
/** Longest time until events arrive that no lag counts. */
const LATE_MS_MAX = 30_000;
/** Number of log lines per node that are printed after a violation. */
const LOG_LINES = 100;
const LOG_COLUMNS = 1_000;

export async function crash(options: CrashOptions): Promise<CrashReport> {
  const site = await Site.open(options);
  try {
    const load = new Load(site, options);
    await upset(site, load, options);
    await load.stop();
    await site.drain();
    await load.readEverywhere();
    const report = await judged(site, load);
    if (report.broken.length > 0) tellLogs(site);
    return report;
  } catch (error) {
    tellLogs(site);
    throw error;
  } finally {
    await site.close();
  }
}

/** Prints the last log lines of each node. */
export function tellLogs({ nodes }: Site): void {
  for (const node of nodes) {
    const lines = node.errors().trimEnd().split("\n").slice(-LOG_LINES);
    const text = lines.map((line) => line.slice(0, LOG_COLUMNS)).join("\n");
    process.stderr.write(`--- ${node.name}\n${text}\n`);
  }
}

async function upset(site: Site, load: Load, options: CrashOptions): Promise<void> {
  const startedAt = performance.now();
  options.onRound({ act: "none", with: await load.goesOn() });
  const { only = "" } = options;
  const acts = actsOf(site, options).filter(({ name }) => name.includes(only));
  for (let round = 0; round < options.rounds; round++) {
    await Bun.sleep(options.quietMs);
    const { name, run } = acts[round % acts.length]!;
    const figures = await run(site, load, Math.floor(round / acts.length));
    const { acknowledged } = load.pixels;
    options.onRound({ act: name, ...figures, acknowledged, second: secondsSince(startedAt) });
  }
}

const secondsSince = (ms: number) => Math.round((performance.now() - ms) / 1_000);

/** Compares what arrived with what was acknowledged, and replays all dead letters. */
export async function judged(site: Site, load: Load): Promise<CrashReport> {
  const { arrivals } = site;
  await allArrived(site, load);
  const known = await Promise.all(site.nodes.map((node) => site.letters(node)));
  const letters = known[0]!;
  const stages = new Map(letters.map(({ eventId, stage }) => [eventId, stage]));
  const verdict = judge(load.pixels, "u", true, arrivals.all, stages);
  const broken = [
    ...Object.entries(verdict.faults).map(
      ([fault, { count, examples }]) => `${count} ${fault}, as ${examples.join(", ")}`,
    ),
    ...lettersFaults(known),
    ...load.faults,
  ];
  const replayed = letters.map(({ eventId }) => eventId);
  broken.push(...(await replayFaults(site, replayed)));
  return {
    ...{ verdict, acknowledged: load.pixels.acknowledged, pixels: load.pixelStatuses },
    ...{ calls: load.callStatuses, replayed: replayed.length, broken },
  };
}

/**
 * Waits until no acknowledged pixel is missing, or for `LATE_MS_MAX`: the lag that a node shows can
 * be of the moment before its last events.
 */
async function allArrived(site: Site, load: Load): Promise<void> {
  for (const until = Date.now() + LATE_MS_MAX; ; await Bun.sleep(1_000)) {
    site.arrivals.read();
    const letters = await site.letters(site.nodes[0]!);
    const stages = new Map(letters.map(({ eventId, stage }) => [eventId, stage]));
    const { faults } = judge(load.pixels, "u", true, site.arrivals.all, stages);
    if (faults.lost === undefined || Date.now() > until) return;
  }
}

/** Replays all dead letters; describes those that do not arrive, and those that remain. */
async function replayFaults(site: Site, eventIds: string[]): Promise<string[]> {
  const { arrivals } = site;
  const from = arrivals.all.length;
  await site.replayAll();
  let missing = eventIds;
  for (const until = Date.now() + REPLAY_MS_MAX; missing.length > 0; await Bun.sleep(250)) {
    arrivals.read();
    const arrived = new Set(arrivals.all.slice(from).map((it) => `${it.user}:${it.number}`));
    missing = eventIds.filter((it) => !arrived.has(it));
    if (Date.now() > until) break;
  }
  const left = await Promise.all(site.nodes.map((node) => site.letters(node)));
  return [
    ...(missing.length > 0
      ? [`${missing.length} dead letters lost when replayed, as ${missing[0]}`]
      : []),
    ...(left.flat().length > 0 ? [`${left.flat().length} dead letters left after a replay`] : []),
  ];
}

if (import.meta.main) {
  const flags = process.argv.slice(2);
  const isCluster = flags.includes("--kafka");
  const [rounds = "20"] = flags.filter((it) => !it.startsWith("--"));
  const only = flags.find((it) => it.startsWith("--only="))?.slice("--only=".length);
  const versions = flags.find((it) => it.startsWith("--versions="))?.slice("--versions=".length);
  const print = (row: object) => process.stdout.write(`${JSON.stringify(row)}\n`);
  const report = await crash({
    ...(isCluster ? { nodes: 3, brokers: 3 as const } : { nodes: 1, brokers: 0 as const }),
    ...{ rounds: Number(rounds), users: 50, pixelsPerSecond: 100 },
    ...(only !== undefined && { only }),
    ...(versions !== undefined && { versions: versions.split(",") }),
    ...{ hangMs: 15_000, awayMs: 60_000, quietMs: 5_000, onRound: print },
  });
  print(report);
  for (const line of report.broken) process.stdout.write(`BROKEN ${line}\n`);
  process.exit(report.broken.length === 0 ? 0 : 1);
}
