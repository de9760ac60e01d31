import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { Copy } from "./copy.ts";
import type { Mutant } from "./mutants.ts";
import { runTests } from "./tests.ts";

/** One file of tests that passes without a mutant. */
export interface TestFile {
  file: string;
  ms: number;
  /** How often lines ran in its own process, by file; lines without code are not there. */
  lines: Map<string, Map<number, number>>;
  /** Source files that may run without a count: those that its child processes load. */
  uncounted: Set<string>;
}

const MEASURE_MS_MAX = 300_000;

/** Runs each file of the quick tier of a folder once; quickest first, without those that fail. */
export async function measureTests(
  copy: Copy,
  folder: string,
  onFailing: (file: string) => void,
): Promise<TestFile[]> {
  const directory = join(copy.directory, "test", folder);
  const names = existsSync(directory) ? readdirSync(directory, { recursive: true }) : [];
  const files = names.map(String).filter((name) => /(?<!\.long)\.test\.tsx?$/.test(name));
  const measured: TestFile[] = [];
  for (const file of files.map((name) => join("test", folder, name)).sort()) {
    const found = (await measure(copy, file, true)) ?? (await measure(copy, file, false));
    if (found === undefined) onFailing(file);
    else measured.push(found);
  }
  return measured.sort((a, b) => a.ms - b.ms);
}

/** Undefined when the tests fail. Some do where lines are counted: they measure what code takes. */
async function measure(copy: Copy, file: string, counts: boolean): Promise<TestFile | undefined> {
  const coverage = join(copy.directory, "coverage");
  const more = ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=${coverage}`];
  const began = performance.now();
  const ending = await runTests(copy, file, { msMax: MEASURE_MS_MAX, more: counts ? more : [] });
  const ms = Math.ceil(performance.now() - began);
  if (ending !== "passed") return undefined;
  const lcov = join(coverage, "lcov.info");
  const lines = linesOf(existsSync(lcov) ? readFileSync(lcov, "utf8") : "");
  rmSync(coverage, { recursive: true, force: true });
  const { own, children } = loadedBy(copy.directory, file);
  return { file, ms, lines, uncounted: counts ? children : own.union(children) };
}

/** The files of tests that may run the mutant's line, in the order of `tests`. */
export function concerned(tests: TestFile[], { file, line }: Mutant): TestFile[] {
  return tests.filter(({ lines, uncounted }) => {
    if (uncounted.has(file)) return true;
    const counts = lines.get(file);
    // A line that is not counted is the middle of a statement.
    return counts !== undefined && counts.get(line) !== 0;
  });
}

function linesOf(lcov: string): TestFile["lines"] {
  const lines: TestFile["lines"] = new Map();
  let counts = new Map<number, number>();
  for (const record of lcov.split("\n")) {
    const [kind, value = ""] = record.split(/:(.*)/s);
    if (kind === "SF") {
      counts = new Map();
      lines.set(normalize(value), counts);
    } else if (kind === "DA") {
      const [line, count] = value.split(",").map(Number) as [number, number];
      counts.set(line, count);
    }
  }
  return lines;
}

/**
 * The files that a file of tests imports, and those that it names in a text, as one names the
 * program of a child process or of a worker, each with all that it imports.
 */
function loadedBy(root: string, test: string) {
  const own = new Set<string>();
  const children = new Set<string>();
  const walk = (file: string, seen: Set<string>) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(join(root, file), "utf8");
    for (const [, name] of text.matchAll(/["'`]([\w./-]+\.ts)["'`]/g)) {
      const isImport = new RegExp(`(from|import)\\s*\\(?\\s*["']${name!.replaceAll(".", "\\.")}`);
      const found = [join(dirname(file), name!), normalize(name!)].find((path) => {
        return !path.startsWith("..") && existsSync(join(root, path));
      });
      if (found === undefined || /\.test\.ts$/.test(found)) continue;
      walk(found, isImport.test(text) ? seen : children);
    }
  };
  walk(test, own);
  return { own, children };
}
