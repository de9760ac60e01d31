/**
 * Mutation testing: applies small faults (mutants) to a copy of `src`, one at a time. A test of the
 * quick tier that runs the faulty line must fail.
 *
 *   npm run mutate [FOLDER …] [-- --sample N] [--seed N] [--only FILE[:LINE]] [--minutes M] [--jobs
 *   N] [--farther]
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Fate, TestFiles } from "./concerned.ts";
import { Copy } from "./copy.ts";
import { type Equivalent, equivalents } from "./equivalent.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";

export interface MutateOptions {
  root: string;
  /** Folders of `src` whose mutants are made. */
  folders: string[];
  /** Size of a random sample of all their mutants; all of them if absent. */
  sample?: number | undefined;
  seed: number;
  /** Files, or lines of files as `FILE:LINE`, to which the mutants are limited. */
  only: string[];
  /** Minutes after which no further mutant is tested. */
  minutes: number;
  /** Number of mutants that are tested concurrently. */
  jobs: number;
  /** Whether a mutant that the nearest tests do not kill meets all other tests that import its file. */
  farther?: boolean;
  equivalents: Equivalent[];
  say(line: string): void;
}

export interface MutateReport {
  /** Number of all mutants; `fates` counts the tested ones. */
  mutants: number;
  fates: Map<Mutant, Fate | "equivalent">;
}

export async function mutate(options: MutateOptions): Promise<MutateReport> {
  const { seed, sample, jobs, minutes, say } = options;
  const mutants = allMutants(options);
  const chosen = shuffled(mutants, seed).slice(0, sample);
  const fates: MutateReport["fates"] = new Map();
  const copies = Array.from({ length: jobs }, () => new Copy(options.root));
  try {
    const tests = new TestFiles(options.root, (file) => {
      say(`${file} fails without a mutant and is put aside`);
    });
    const end = performance.now() + minutes * 60_000;
    const waiting = chosen.values();
    const work = async (copy: Copy) => {
      for (const mutant of waiting) {
        if (performance.now() > end) break;
        const { fate, by = "" } = isKnown(copy, options, mutant)
          ? { fate: "equivalent" as const }
          : await judge(copy, mutant, tests, options.farther ?? false);
        fates.set(mutant, fate);
        say(`${fate} ${mutant.file}:${mutant.line}  ${mutant.change}  ${by}`.trimEnd());
      }
    };
    await Promise.all(copies.map(work));
  } finally {
    for (const copy of copies) copy.close();
  }
  return { mutants: mutants.length, fates };
}

function allMutants({ root, folders, only }: MutateOptions): Mutant[] {
  const files = folders.flatMap((folder) => {
    const names = readdirSync(join(root, "src", folder), { recursive: true }).map(String);
    return names.filter((name) => /\.ts$/.test(name)).map((name) => join("src", folder, name));
  });
  const mutants = files.sort().flatMap((file) => {
    return mutantsOf(file, readFileSync(join(root, file), "utf8"));
  });
  if (only.length === 0) return mutants;
  return mutants.filter(
    ({ file, line }) => only.includes(file) || only.includes(`${file}:${line}`),
  );
}

async function judge(copy: Copy, mutant: Mutant, tests: TestFiles, farther: boolean) {
  let fate: Fate = "uncovered";
  const more = farther ? tests.farther(mutant.file) : [];
  for (const test of [...tests.nearest(mutant.file), ...more]) {
    if (!tests.mayRun(test, mutant)) continue;
    const found = await tests.judge(copy, test, mutant);
    if (found === "failed" || found === "stopped") return { fate: found, by: test };
    if (found === "survived") fate = found;
  }
  return { fate };
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

/** Builds a row of the table from the fates of some mutants. */
export function row(name: string, fates: (Fate | "equivalent")[]): Record<string, string | number> {
  const count = (fate: Fate | "equivalent") => fates.filter((one) => one === fate).length;
  const killed = count("failed") + count("stopped");
  const survived = count("survived") + count("uncovered");
  return {
    folder: name,
    made: fates.length,
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
      farther: { type: "boolean", default: false },
    },
  });
  const root = join(import.meta.dir, "../..");
  const folders = readdirSync(join(root, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const strange = positionals.find((folder) => !folders.includes(folder));
  if (strange !== undefined) {
    throw new Error(`Expected folders of src, one of ${folders.join(", ")}, got ${strange}`);
  }
  const numberOf = (name: "sample" | "seed" | "minutes" | "jobs") => {
    const text = values[name];
    if (text === undefined || Number(text) > 0) return Number(text);
    throw new Error(`Expected --${name} to be a number above 0, got ${text}`);
  };
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const { mutants, fates } = await mutate({
    root,
    folders: positionals.length > 0 ? positionals : folders,
    sample: values.sample === undefined ? undefined : numberOf("sample"),
    seed: numberOf("seed"),
    only: values.only,
    minutes: numberOf("minutes"),
    jobs: numberOf("jobs"),
    farther: values.farther,
    equivalents,
    say,
  });
  const byFolder = Map.groupBy(fates, ([{ file }]) => file.split("/")[1]!);
  const rows = [...byFolder].map(([folder, some]) => {
    return row(
      folder,
      some.map(([, fate]) => fate),
    );
  });
  rows.sort((a, b) => (String(a.folder) < String(b.folder) ? -1 : 1));
  rows.push(row(`all, of ${mutants} mutants`, [...fates.values()]));
  say(Bun.inspect.table(rows, { colors: false }));
}

if (import.meta.main) await main();
