/**
 * Power-loss test, which SIGKILL cannot replace: a server runs on a real file system over a disk
 * that records each write and flush. Then the test mounts states of that disk in which unflushed
 * writes are missing, partly present or torn; a server that starts on such a state must have all
 * data that the first server had acknowledged.
 *
 *   npm run power-loss [STATES] [FILE_SYSTEM …]      ext4, xfs and btrfs; exits with 1 on a fault
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { CrashStates, type Mode, modes } from "./crash-states.ts";
import { type FileSystem, fileSystems, lacks, openRecordedDisk, withImage } from "./disk.ts";
import { type Judged, judgeState } from "./judge.ts";
import { openSink, recordRun, type Trace } from "./record.ts";

export interface PowerLossOptions {
  fileSystem: FileSystem;
  states: number;
  seconds: number;
  seed: number;
  onState(state: { position: number; mode: Mode; pending: number } & Judged): void;
}

export interface PowerLossReport {
  fileSystem: FileSystem;
  seed: number;
  records: number;
  /** Number of states with acknowledged data. */
  states: number;
  owedPixels: number;
  owedChanges: number;
  /** Number of unflushed writes, over all states. */
  pendingWrites: number;
  repeated: number;
  repeatedMost: number;
  faults: string[];
}

export async function powerLoss(options: PowerLossOptions): Promise<PowerLossReport> {
  const { fileSystem, seed } = options;
  const directory = temporaryDirectory();
  const disk = await openRecordedDisk(directory, fileSystem);
  // The recorded configuration contains the port of the receiver, which has a private address.
  const sink = openSink();
  let trace: Trace;
  try {
    trace = await recordRun(disk, options.seconds, sink);
  } finally {
    await disk.close();
  }
  const random = randomFrom(seed);
  const from = { mounted: disk.mounted, ready: trace.ready };
  const states = new CrashStates(disk.journal, directory, random);
  const report: PowerLossReport = {
    ...{ fileSystem, seed, records: states.records, states: 0, owedPixels: 0, owedChanges: 0 },
    ...{ pendingWrites: 0, repeated: 0, repeatedMost: 0, faults: [] },
  };
  const mountPoint = join(directory, "crashed");
  mkdirSync(mountPoint);
  for (const [index, position] of positions(
    states,
    trace,
    from,
    options.states,
    random,
  ).entries()) {
    const mode = modes[index % modes.length]!;
    const { image, pending } = await states.image(position, mode);
    const judged = await withImage(image, mountPoint, () =>
      judgeState(mountPoint, trace, position, sink),
    );
    options.onState({ position, mode, pending, ...judged });
    if (judged.owesNothing) continue;
    report.states += 1;
    report.owedPixels += judged.owedPixels;
    report.owedChanges += judged.owedChanges;
    report.pendingWrites += pending;
    report.repeated += judged.repeated;
    report.repeatedMost = Math.max(report.repeatedMost, judged.repeated);
    report.faults.push(...judged.faults.map((fault) => `${position} ${mode}: ${fault}`));
  }
  states.close();
  sink.stop();
  removeDirectory(directory);
  return report;
}

/**
 * Chooses states: a third with the most unflushed writes, half right after a response, others at
 * random.
 */
function positions(
  states: CrashStates,
  { pixels, changes, end }: Trace,
  { mounted, ready }: { mounted: number; ready: number },
  count: number,
  random: () => number,
): number[] {
  const chosen = new Set(states.busiest(mounted, end, Math.ceil(count / 3)));
  const answered = [
    ...pixels.flatMap(({ acknowledgedAt }) => acknowledgedAt ?? []),
    ...changes.map(({ at }) => at),
  ];
  while (chosen.size < Math.min(count, end)) {
    const afterAnswer = random() < 0.75;
    const from = random() < 0.3 ? mounted : ready;
    chosen.add(
      afterAnswer
        ? answered[Math.floor(random() * answered.length)]!
        : Math.floor(from + random() * (end - from)),
    );
  }
  return [...chosen].sort((a, b) => a - b);
}

/** A linear congruential generator (Numerical Recipes): the seed gives the same states again. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

if (import.meta.main) {
  const [count = "100", ...named] = process.argv.slice(2);
  const print = (row: object) => process.stdout.write(`${JSON.stringify(row)}\n`);
  let faults = 0;
  for (const fileSystem of named.length > 0 ? (named as FileSystem[]) : fileSystems) {
    const reason = lacks(fileSystem);
    if (reason !== undefined) {
      process.stdout.write(`${fileSystem} is left out: ${reason}\n`);
      continue;
    }
    const seed = Date.now() % 2 ** 31;
    const report = await powerLoss({
      ...{ fileSystem, states: Number(count), seconds: 40, seed },
      onState(state) {
        if (state.faults.length > 0) print(state);
      },
    });
    print(report);
    faults += report.faults.length;
  }
  process.exit(faults === 0 ? 0 : 1);
}
