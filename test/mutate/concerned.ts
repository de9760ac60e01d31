import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { slowFiles } from "../run/shards.ts";
import type { Copy } from "./copy.ts";
import type { Mutant } from "./mutants.ts";
import { runTests } from "./tests.ts";

/** Test file that passes without a mutant. */
interface TestFile {
  file: string;
  ms: number;
  /** Executions of each line in the test's own process, by file; lines without code are absent. */
  lines: Map<string, Map<number, number>>;
  /** Whether the lines that its own process ran are counted. */
  isCounted: boolean;
}

/** Number of imports between a test file and each file that it loads. */
interface Loaded {
  own: Map<string, number>;
  /** Files that run without line counts, because child processes or workers load them. */
  children: Map<string, number>;
}

const MEASURE_MS_MAX = 300_000;
/** Compares the generated reference with the limits, settings, metrics and errors of all folders. */
const REFERENCE_TEST = "test/docs/documents.test.ts";
/**
 * Number of test files that a mutant meets at most, by group: importers in its own folder, tests in
 * its own folder whose child processes load it, importers elsewhere, end-to-end tests elsewhere.
 */
const GROUP_SIZES = [Number.POSITIVE_INFINITY, 6, 24, 3];

/** Quick-tier test files of a project; each is measured when a mutant first needs it. */
export class TestFiles {
  readonly #onFailing: (file: string) => void;
  readonly #loaded: Map<string, Loaded>;
  readonly #measured = new Map<string, Promise<TestFile | undefined>>();

  constructor(root: string, onFailing: (file: string) => void) {
    this.#onFailing = onFailing;
    const names = readdirSync(join(root, "test"), { recursive: true }).map(String).sort();
    const files = names.filter((name) => /(?<!\.long)\.test\.tsx?$/.test(name));
    const paths = files.map((name) => join("test", name));
    this.#loaded = new Map(paths.map((path) => [path, loadedBy(root, path)]));
  }

  /** Yields the passing test files that may run the mutant's line, the nearest first. */
  async *concerned(copy: Copy, { file, line }: Mutant): AsyncGenerator<TestFile> {
    for (const test of this.#nearest(file)) {
      const measured = await this.#measure(copy, test);
      if (measured === undefined) continue;
      const { own, children } = this.#loaded.get(test)!;
      const counts = measured.lines.get(file);
      // A line without a count is inside a statement.
      const isRun = counts !== undefined && counts.get(line) !== 0;
      if (isRun || children.has(file) || (!measured.isCounted && own.has(file))) yield measured;
    }
  }

  #nearest(file: string): string[] {
    const tests = [...this.#loaded].flatMap(([test, { own, children }]) => {
      const distance = own.get(file) ?? children.get(file);
      if (distance === undefined) return [];
      const shared = sharedNames(test, file);
      const group = (own.has(file) ? 0 : 1) + (shared > 0 ? 0 : 2);
      return [{ test, group, isSlow: slowFiles.includes(test), shared, distance }];
    });
    const sorted = tests.sort((a, b) => {
      const isSlower = Number(a.isSlow) - Number(b.isSlow);
      return isSlower || b.shared - a.shared || a.distance - b.distance;
    });
    const names = GROUP_SIZES.flatMap((size, index) => {
      return sorted.filter(({ group }) => group === index).slice(0, size);
    }).map(({ test }) => test);
    if (this.#loaded.has(REFERENCE_TEST)) names.push(REFERENCE_TEST);
    return [...new Set(names)];
  }

  #measure(copy: Copy, file: string): Promise<TestFile | undefined> {
    const known = this.#measured.get(file);
    if (known !== undefined) return known;
    const found = measure(copy, file, true).then(async (counted) => {
      const test = counted ?? (await measure(copy, file, false));
      if (test === undefined) this.#onFailing(file);
      return test;
    });
    this.#measured.set(file, found);
    return found;
  }
}

/** Number of names that the paths of a test file and a source file begin with, below their roots. */
function sharedNames(test: string, source: string): number {
  const names = (path: string) =>
    path
      .replace(/(\.test)?\.tsx?$/, "")
      .split("/")
      .slice(1);
  const [a, b] = [names(test), names(source)];
  const different = a.findIndex((name, index) => name !== b[index]);
  return different < 0 ? a.length : different;
}

/**
 * Measures a test file; undefined if it fails. Some fail under coverage, since they measure time.
 */
async function measure(
  copy: Copy,
  file: string,
  isCounted: boolean,
): Promise<TestFile | undefined> {
  const coverage = join(copy.directory, "coverage");
  const more = ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=${coverage}`];
  const began = performance.now();
  const ending = await runTests(copy, file, {
    msMax: MEASURE_MS_MAX,
    more: isCounted ? more : [],
  });
  const ms = Math.ceil(performance.now() - began);
  if (ending !== "passed") return undefined;
  const lcov = join(coverage, "lcov.info");
  const lines = linesOf(existsSync(lcov) ? readFileSync(lcov, "utf8") : "");
  rmSync(coverage, { recursive: true, force: true });
  return { file, ms, lines, isCounted };
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
 * Finds the files that a test file imports, and those that it names in strings, such as the program
 * of a child process or of a worker; each with its transitive imports.
 */
function loadedBy(root: string, test: string): Loaded {
  const own = new Map([[test, 0]]);
  const children = new Map<string, number>();
  // A loop over a map also visits what is added meanwhile.
  for (const [file, distance] of own) {
    for (const { path, isImport } of referencesOf(root, file)) {
      const to = isImport ? own : children;
      if (!to.has(path)) to.set(path, distance + 1);
    }
  }
  for (const [file, distance] of children) {
    for (const { path } of referencesOf(root, file)) {
      if (!children.has(path)) children.set(path, distance + 1);
    }
  }
  return { own, children };
}

const references = new Map<string, { path: string; isImport: boolean }[]>();

function referencesOf(root: string, file: string) {
  const known = references.get(join(root, file));
  if (known !== undefined) return known;
  const text = readFileSync(join(root, file), "utf8");
  const found = [...text.matchAll(/(?:(from|import)\s*\(?\s*)?["'`]([\w./-]+\.tsx?)["'`]/g)];
  const paths = found.flatMap(([, word, name]) => {
    const path = [join(dirname(file), name!), normalize(name!)].find((path) => {
      return !path.startsWith("..") && existsSync(join(root, path));
    });
    if (path === undefined || /\.test\.tsx?$/.test(path)) return [];
    return [{ path, isImport: word !== undefined }];
  });
  references.set(join(root, file), paths);
  return paths;
}
