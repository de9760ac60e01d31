/**
 * Mutation testing: applies small faults (mutants) to a copy of `src/FOLDER`, one at a time. The
 * tests of `test/FOLDER` that run the faulty line must fail.
 *
 *   npm run mutate [FOLDER …] [-- --sample N] [--seed N] [--only FILE[:LINE]] [--minutes M] [--jobs N]
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { concerned, measureTests, type TestFile } from "./concerned.ts";
import { Copy } from "./copy.ts";
import { type Equivalent, equivalents } from "./equivalent.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";
import { runTests } from "./tests.ts";

export interface MutateOptions {
  root: string;
  folder: string;
  /** Size of a random sample of mutants; all of them if absent. */
  sample?: number | undefined;
  seed: number;
  /** Files, or lines of files as `FILE:LINE`, to which the mutants are limited. */
  only: string[];
  /** Minutes after which no further mutant is tested. */
  minutes: number;
  /** Number of mutants that are tested concurrently. */
  jobs: number;
  equivalents: Equivalent[];
  say(line: string): void;
}

/**
 * Fate of a mutant: "stopped" means killed by a run that did not end, "uncovered" that no test runs
 * its line.
 */
export type Fate = "failed" | "stopped" | "survived" | "uncovered" | "equivalent";

export interface MutateReport {
  folder: string;
  /** Number of all mutants; `fates` counts the tested ones. */
  mutants: number;
  fates: Map<Mutant, Fate>;
}

/**
 * Factor of the timeout: a run hangs after this many times the tests' usual time plus `MORE_MS`.
 */
const SLOWER_MAX = 4;
const MORE_MS = 15_000;

export async function mutate(options: MutateOptions): Promise<MutateReport> {
  const { folder, seed, sample, jobs, minutes, say } = options;
  const mutants = allMutants(options);
  const chosen = shuffled(mutants, seed).slice(0, sample);
  const fates: MutateReport["fates"] = new Map();
  const copies = Array.from({ length: jobs }, () => new Copy(options.root));
  try {
    const tests = await measureTests(copies[0]!, folder, (file) => {
      say(`${file} fails without a mutant and is put aside`);
    });
    const end = performance.now() + minutes * 60_000;
    const waiting = chosen.values();
    const work = async (copy: Copy) => {
      for (const mutant of waiting) {
        if (performance.now() > end) break;
        const fate = isKnown(copy, options, mutant)
          ? "equivalent"
          : await judge(copy, mutant, tests);
        fates.set(mutant, fate);
        const place = `${mutant.file}:${mutant.line}`;
        if (fate === "survived" || fate === "uncovered") say(`${fate} ${place}  ${mutant.change}`);
      }
    };
    await Promise.all(copies.map(work));
  } finally {
    for (const copy of copies) copy.close();
  }
  return { folder, mutants: mutants.length, fates };
}

function allMutants({ root, folder, only }: MutateOptions): Mutant[] {
  const names = readdirSync(join(root, "src", folder), { recursive: true }).map(String);
  const files = names.filter((name) => /\.ts$/.test(name)).map((name) => join("src", folder, name));
  const mutants = files.sort().flatMap((file) => {
    return mutantsOf(file, readFileSync(join(root, file), "utf8"));
  });
  if (only.length === 0) return mutants;
  return mutants.filter(
    ({ file, line }) => only.includes(file) || only.includes(`${file}:${line}`),
  );
}

async function judge(copy: Copy, mutant: Mutant, all: TestFile[]): Promise<Fate> {
  const tests = concerned(all, mutant);
  if (tests.length === 0) return "uncovered";
  return copy.with(mutant, async () => {
    for (const { file, ms } of tests) {
      const ending = await runTests(copy, file, { msMax: SLOWER_MAX * ms + MORE_MS });
      if (ending !== "passed") return ending;
    }
    return "survived";
  });
}

/** Whether a mutant is a known equivalent. Reads the copy, because the original may change. */
function isKnown(copy: Copy, { equivalents }: MutateOptions, mutant: Mutant): boolean {
  const lines = readFileSync(join(copy.directory, mutant.file), "utf8").split("\n");
  const line = lines[mutant.line - 1]!.trim();
  return equivalents.some((known) => {
    return known.file === mutant.file && known.line === line && known.change === mutant.change;
  });
}

/** Shuffles mutants by a seed. A code change does not affect the order of other mutants. */
function shuffled(mutants: Mutant[], seed: number): Mutant[] {
  const met = new Map<string, number>();
  const keyed = mutants.map((mutant) => {
    const name = `${mutant.file} ${mutant.change}`;
    const times = met.get(name) ?? 0;
    met.set(name, times + 1);
    return { mutant, key: Bun.hash.xxHash64(`${name} ${times}`, BigInt(seed)) };
  });
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ mutant }) => mutant);
}

/** Builds a report's row of the table. */
export function row({ folder, mutants, fates }: MutateReport): Record<string, string | number> {
  const count = (fate: Fate) => [...fates.values()].filter((one) => one === fate).length;
  const killed = count("failed") + count("stopped");
  const survived = count("survived") + count("uncovered");
  return {
    folder,
    "of mutants": mutants,
    made: fates.size,
    killed,
    "by time": count("stopped"),
    survived,
    uncovered: count("uncovered"),
    equivalent: count("equivalent"),
    "killed %": Math.round((1000 * killed) / Math.max(1, killed + survived)) / 10,
  };
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sample: { type: "string" },
      seed: { type: "string", default: "1" },
      only: { type: "string", multiple: true, default: [] },
      minutes: { type: "string", default: "1000" },
      jobs: { type: "string", default: "1" },
    },
  });
  const root = join(import.meta.dir, "../..");
  const folders = readdirSync(join(root, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, "test", entry.name)))
    .map(({ name }) => name);
  const strange = positionals.find((folder) => !folders.includes(folder));
  if (strange !== undefined) {
    throw new Error(`Expected one of ${folders.join(", ")}, which have tests, got ${strange}`);
  }
  const numberOf = (name: "sample" | "seed" | "minutes" | "jobs") => {
    const text = values[name];
    if (text === undefined || Number(text) > 0) return Number(text);
    throw new Error(`Expected --${name} to be a number above 0, got ${text}`);
  };
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const rows = [];
  for (const folder of positionals.length > 0 ? positionals : folders) {
    const report = await mutate({
      root,
      folder,
      sample: values.sample === undefined ? undefined : numberOf("sample"),
      seed: numberOf("seed"),
      only: values.only,
      minutes: numberOf("minutes"),
      jobs: numberOf("jobs"),
      equivalents,
      say,
    });
    rows.push(row(report));
  }
  say(Bun.inspect.table(rows, { colors: false }));
}

if (import.meta.main) await main();
