/**
 * Soak test: sends pixels through JavaScript and Python, publishes a revision every few seconds,
 * has a flapping receiver, and kills and stops every process. At the end each acknowledged pixel
 * must be at each destination.
 *
 *   npm run soak [MINUTES] [PIXELS_PER_SECOND]      exits with 1 when a promise was broken
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { codeOf, testEvent } from "./fates.ts";
import { type Arrival, judge, type Verdict } from "./oracle.ts";
import { type Sample, sampleOf } from "./sample.ts";
import { SentPixels } from "./sent-pixels.ts";
import { Site } from "./site.ts";

export interface SoakOptions {
  minutes: number;
  pixelsPerSecond: number;
  /** Pause between two acts of chaos. */
  chaosMs: number;
  moodMs: number;
  onSample(sample: Sample): void;
  sampleMs: number;
}

export interface SoakReport {
  verdicts: Record<string, Verdict>;
  revisions: number;
  /** Number of acts of chaos by name. */
  chaos: Record<string, number>;
  acknowledged: number;
  /** Responses to pixels other than 200, by status; 0 is a broken connection. */
  refused: Record<number, number>;
  tornLines: number;
}

/** Lanes: the users whose pixels a destination receives, and whether code runs before it. */
const lanes = {
  javascript: { prefix: "j", coded: true },
  python: { prefix: "p", coded: true },
  flapping: { prefix: "j", coded: false },
  file: { prefix: "j", coded: false },
} as const;

const USERS = { j: 40, p: 5 };
/** Fraction of pixels that go through Python. */
const PYTHON_SHARE = 0.1;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, "received"));
  const site = await Site.open(directory, options.moodMs);
  const pixels = new SentPixels();
  const report = { chaos: {} as SoakReport["chaos"], refused: {} as SoakReport["refused"] };
  let revisions = 0;
  let on = true;

  const send = async (user: string, writeKey: string, pauseMs: number) => {
    while (on) {
      const number = pixels.next(user);
      const startedAt = performance.now();
      const status = await site.pixel(writeKey, user, `${user}:${number}`);
      if (status === 200) pixels.acknowledge(user, number);
      else report.refused[status] = (report.refused[status] ?? 0) + 1;
      await Bun.sleep(Math.max(status === 200 ? 0 : 50, pauseMs - (performance.now() - startedAt)));
    }
  };
  const publish = async () => {
    for (; on; await Bun.sleep(2_000 + Math.random() * 3_000)) {
      const language = revisions % 2 === 0 ? "javascript" : "pythonfaas";
      const body = { code: codeOf[language](revisions + 1), language, events: [testEvent] };
      if (await site.publish(language, body)) revisions += 1;
    }
  };
  const upset = async () => {
    const acts = Object.entries(site.chaos);
    for (let turn = 0; ; turn++) {
      for (let left = options.chaosMs; left > 0 && on; left -= 250) await Bun.sleep(250);
      if (!on) return;
      const [name, act] = acts[turn % acts.length]!;
      await act();
      report.chaos[name] = (report.chaos[name] ?? 0) + 1;
    }
  };
  const watch = async () => {
    for (let at = options.sampleMs; on; await Bun.sleep(250)) {
      if (performance.now() - startedAt < at) continue;
      at += options.sampleMs;
      options.onSample(await sampleOf(site, pixels, performance.now() - startedAt));
    }
  };

  const startedAt = performance.now();
  const users = (prefix: "j" | "p", share: number) => {
    const pauseMs = (1_000 * USERS[prefix]) / (options.pixelsPerSecond * share);
    return Array.from({ length: USERS[prefix] }, (_, index) =>
      send(`${prefix}${index}`, site.writeKeys[prefix], pauseMs),
    );
  };
  const work = [
    ...users("j", 1 - PYTHON_SHARE),
    ...users("p", PYTHON_SHARE),
    ...[publish(), upset(), watch()],
  ];
  await Bun.sleep(options.minutes * 60_000);
  on = false;
  await Promise.all(work);

  await site.drain();
  const verdicts: SoakReport["verdicts"] = {};
  let tornLines = 0;
  for (const [name, { prefix, coded }] of Object.entries(lanes)) {
    const { arrivals, torn } = name === "file" ? inFile(site.file) : received(directory, name);
    tornLines += torn;
    const letters = await site.deadLetters(name);
    verdicts[name] = judge(pixels, prefix, coded, arrivals, letters);
  }
  await site.close();
  removeDirectory(directory);
  return { ...report, verdicts, revisions, acknowledged: pixels.acknowledged, tornLines };
}

function received(directory: string, name: string): { arrivals: Arrival[]; torn: number } {
  const lines = readFileSync(join(directory, "received", name), "utf8")
    .trimEnd()
    .split("\n");
  const arrivals = lines.map((line) => {
    const [id, messageId, revision] = line.split(" ");
    return {
      ...placeOf(id!),
      messageId: messageId!,
      ...(revision !== "-" && { revision: Number(revision) }),
    };
  });
  return { arrivals, torn: 0 };
}

/** Reads arrivals from a file destination's file; a line that is no JSON counts as torn. */
function inFile(path: string): { arrivals: Arrival[]; torn: number } {
  let torn = 0;
  const arrivals = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      try {
        const { messageId, properties } = JSON.parse(line);
        return [{ ...placeOf(properties.id), messageId }];
      } catch {
        torn += 1;
        return [];
      }
    });
  return { arrivals, torn };
}

function placeOf(id: string): { user: string; number: number } {
  const [user, number] = id.split(":");
  return { user: user!, number: Number(number) };
}

/** Describes each violation in a sentence; empty if there are none. */
export function brokenPromises({ verdicts, tornLines }: SoakReport): string[] {
  const faults = Object.entries(verdicts).flatMap(([lane, verdict]) =>
    Object.entries(verdict.faults).map(
      ([fault, { count, examples }]) => `${lane}: ${count} ${fault}, as ${examples.join(", ")}`,
    ),
  );
  return tornLines > 0 ? [...faults, `file: ${tornLines} torn lines`] : faults;
}

if (import.meta.main) {
  const [minutes = "30", pixelsPerSecond = "500"] = process.argv.slice(2);
  const print = (row: object) => process.stdout.write(`${JSON.stringify(row)}\n`);
  const report = await soak({
    minutes: Number(minutes),
    pixelsPerSecond: Number(pixelsPerSecond),
    ...{ chaosMs: 45_000, moodMs: 20_000, sampleMs: 60_000 },
    onSample: print,
  });
  print(report);
  const broken = brokenPromises(report);
  for (const line of broken) process.stdout.write(`BROKEN ${line}\n`);
  process.exit(broken.length === 0 ? 0 : 1);
}
