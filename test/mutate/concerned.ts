import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { Copy } from "./copy.ts";
import type { Mutant } from "./mutants.ts";
import { runTests } from "./tests.ts";

/** Test file that passes without a mutant. */
export interface TestFile {
  file: string;
  ms: number;
  /** Executions of each line in the test's own process, by file; lines without code are absent. */
  lines: Map<string, Map<number, number>>;
  /** Source files that run without line counts, because child processes load them. */
  uncounted: Set<string>;
}

const MEASURE_MS_MAX = 300_000;
/** Compares the generated reference with the limits, settings, metrics and errors of all folders. */
const REFERENCE_TEST = "test/docs/documents.test.ts";

/**
 * Runs each quick-tier file of a folder once, and the test of the reference; returns the passing
 * ones, fastest first.
 */
export async function measureTests(
  copy: Copy,
  folder: string,
  onFailing: (file: string) => void,
): Promise<TestFile[]> {
  const directory = join(copy.directory, "test", folder);
  const names = existsSync(directory) ? readdirSync(directory, { recursive: true }) : [];
  const files = names.map(String).filter((name) => /(?<!\.long)\.test\.tsx?$/.test(name));
  const measured: TestFile[] = [];
  const paths = files.map((name) => join("test", folder, name)).sort();
  if (existsSync(join(copy.directory, REFERENCE_TEST))) paths.push(REFERENCE_TEST);
  for (const file of paths) {
    const found = (await measure(copy, file, true)) ?? (await measure(copy, file, false));
    if (found === undefined) onFailing(file);
    else measured.push(found);
  }
  return measured.sort((a, b) => a.ms - b.ms);
}

/**
 * Measures a test file; undefined if it fails. Some fail under coverage, since they measure time.
 */
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

/** Selects the test files that may run the mutant's line, in the order of `tests`. */
export function concerned(tests: TestFile[], { file, line }: Mutant): TestFile[] {
  return tests.filter(({ lines, uncounted }) => {
    if (uncounted.has(file)) return true;
    const counts = lines.get(file);
    // A line without a count is inside a statement.
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
 * Files that a test file imports, and files that it names in strings, such as the program of a
 * child process or of a worker; each with its transitive imports.
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
