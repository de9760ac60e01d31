/**
 * Nodes and brokers are killed, hang and come back under a load of pixels and calls. In the end
 * each acknowledged pixel must be at its destination or among the dead letters.
 *
 *   npm run crash [ROUNDS] [-- --kafka] [--only=WORD]
 *
 * One node on its disk, or three on three brokers; only what has the word in its name. Exits with 1
 * when a promise was broken.
 */
import { judge, type Verdict } from "../soak/oracle.ts";
import { type ActOptions, actsOf } from "./acts.ts";
import { lettersFaults } from "./letters.ts";
import { Load, type LoadOptions } from "./load.ts";
import { Site, type SiteOptions } from "./site.ts";

export interface CrashOptions extends SiteOptions, LoadOptions, ActOptions {
  rounds: number;
  /** Only the acts that have this in their name. */
  only?: string;
  /** Pause between two rounds, without failures. */
  quietMs: number;
  onRound(row: object): void;
}

export interface CrashReport {
  verdict: Verdict;
  acknowledged: number;
  /** Answers by status; 0 is a connection that broke, or no answer in time. */
  pixels: Record<number, number>;
  calls: Record<number, number>;
  replayed: number;
  /** Sentences for what was broken; none when everything held. */
  broken: string[];
}

/** Until what was replayed has arrived. */
const REPLAY_MS_MAX = 120_000;
/** Part of the logs that is shown when a promise was broken. */
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

/** Last output of the nodes. */
function tellLogs({ nodes }: Site): void {
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

async function judged(site: Site, load: Load): Promise<CrashReport> {
  const { arrivals } = site;
  arrivals.read();
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

/** Each dead letter arrives when it is sent once more to code that takes it; none is left. */
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
  const print = (row: object) => process.stdout.write(`${JSON.stringify(row)}\n`);
  const report = await crash({
    ...(isCluster ? { nodes: 3, brokers: 3 as const } : { nodes: 1, brokers: 0 as const }),
    ...{ rounds: Number(rounds), users: 50, pixelsPerSecond: 100 },
    ...(only !== undefined && { only }),
    ...{ hangMs: 15_000, awayMs: 60_000, quietMs: 5_000, onRound: print },
  });
  print(report);
  for (const line of report.broken) process.stdout.write(`BROKEN ${line}\n`);
  process.exit(report.broken.length === 0 ? 0 : 1);
}
