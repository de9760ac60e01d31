import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { brokersOf, slowFiles } from "../run/shards.ts";
import type { Copy } from "./copy.ts";
import { KeptRuns, type Lines, type PassedRun } from "./kept-runs.ts";
import type { Mutant } from "./mutants.ts";
import { runTests } from "./tests.ts";

/**
 * Fate of a mutant at a test: "stopped" means killed by a run that did not end, "uncovered" that
 * the test does not run its line.
 */
export type Fate = "failed" | "stopped" | "survived" | "uncovered";

/** Number of imports between a test file and each file that it loads. */
interface Loaded {
  own: Map<string, number>;
  /** Files that run without line counts, because child processes or workers load them. */
  children: Map<string, number>;
}

/**
 * Timeouts of a quick and of a slow file that has not passed yet. If a quick file hangs with a
 * mutant, its time without the mutant tells whether this was enough.
 */
const FIRST_MS_MAX = 30_000;
const FIRST_SLOW_MS_MAX = 180_000;
/** Factor of the timeout: a run hangs after this many times its usual time plus `MORE_MS`. */
const SLOWER_MAX = 4;
const MORE_MS = 8_000;
/**
 * Compares the generated reference with the limits, settings, metrics and errors of all folders.
 */
const REFERENCE_TEST = "test/docs/documents.test.ts";
/**
 * Number of test files that a mutant meets at most, by group: importers in its own folder, tests in
 * its own folder whose child processes load it, importers elsewhere, end-to-end tests elsewhere.
 * Slow files elsewhere, and those that start brokers, are left out.
 */
const GROUP_SIZES = [Number.POSITIVE_INFINITY, 12, 16, 2];

/** Quick-tier test files of a project; each run of one counts its lines for later mutants. */
export class TestFiles {
  readonly #onFailing: (file: string) => void;
  readonly #loaded: Map<string, Loaded>;
  readonly #slow: Set<string>;
  readonly #passed = new Map<string, PassedRun>();
  readonly #kept: KeptRuns;
  /** Files that have failed under coverage without a mutant, since they measure time. */
  readonly #uncounted = new Set<string>();
  readonly #failing = new Set<string>();

  constructor(root: string, onFailing: (file: string) => void) {
    this.#onFailing = onFailing;
    const names = readdirSync(join(root, "test"), { recursive: true }).map(String).sort();
    const files = names.filter((name) => /(?<!\.long)\.test\.tsx?$/.test(name));
    const paths = files.map((name) => join("test", name));
    this.#loaded = new Map(paths.map((path) => [path, loadedBy(root, path)]));
    const isSlow = (path: string) => slowFiles.includes(path) || brokersOf(join(root, path));
    this.#slow = new Set(paths.filter(isSlow));
    this.#kept = new KeptRuns(root);
    for (const path of paths) {
      const run = this.#kept.find(path, this.#loadedBy(path));
      if (run !== undefined) this.#passed.set(path, run);
    }
  }

  /** Whether a test file may run the mutant's line; true until it is known. */
  mayRun(test: string, { file, line }: Mutant): boolean {
    if (this.#failing.has(test)) return false;
    const passed = this.#passed.get(test);
    if (passed === undefined || passed.unsure.has(file) || this.#uncounted.has(test)) return true;
    return this.#loaded.get(test)!.children.has(file) || isCounted(passed.lines, file, line);
  }

  /** Runs a test file with the mutant, which it kills if it fails then alone. */
  async judge(copy: Copy, test: string, mutant: Mutant): Promise<Fate> {
    const runMutant = (msMax: number) =>
      copy.with(mutant, () => this.#run(copy, test, msMax, mutant.file));
    const msMax = this.#timeoutOf(test);
    const run = await runMutant(msMax);
    if (run.ending === "passed") {
      const { children } = this.#loaded.get(test)!;
      const isRun = children.has(mutant.file) || this.#uncounted.has(test);
      return isRun || isCounted(run.lines, mutant.file, mutant.line) ? "survived" : "uncovered";
    }
    // A test that fails or hangs by itself at the present load kills nothing.
    const without = await this.#run(copy, test, FIRST_SLOW_MS_MAX / 3);
    if (without.ending === "passed") {
      const isEarly = run.ending === "stopped" && msMax < this.#timeoutOf(test);
      if (!run.isSlowed && !isEarly) return run.ending;
      const again = await runMutant(this.#timeoutOf(test));
      return again.ending === "passed" ? "survived" : again.ending;
    }
    if (this.#uncounted.has(test)) {
      this.#failing.add(test);
      this.#onFailing(test);
    }
    this.#uncounted.add(test);
    return "survived";
  }

  #timeoutOf(test: string): number {
    const ms = this.#passed.get(test)?.ms;
    if (ms !== undefined) return SLOWER_MAX * ms + MORE_MS;
    return this.#slow.has(test) ? FIRST_SLOW_MS_MAX : FIRST_MS_MAX;
  }

  async #run(copy: Copy, test: string, msMax: number, mutated?: string) {
    const coverage = join(copy.directory, "coverage");
    const more = ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=${coverage}`];
    const { ending, ms, isSlowed } = await runTests(copy, test, {
      msMax,
      more: this.#uncounted.has(test) ? [] : more,
    });
    const lcov = join(coverage, "lcov.info");
    const lines = linesOf(existsSync(lcov) ? readFileSync(lcov, "utf8") : "");
    rmSync(coverage, { recursive: true, force: true });
    const known = this.#passed.get(test);
    if (ending === "passed" && known?.unsure.size !== 0) {
      const passed = { ms, lines, unsure: new Set(mutated === undefined ? [] : [mutated]) };
      this.#passed.set(test, passed);
      if (!this.#uncounted.has(test)) this.#kept.keep(test, this.#loadedBy(test), passed);
    }
    return { ending, isSlowed, lines };
  }

  #loadedBy(test: string): string[] {
    const { own, children } = this.#loaded.get(test)!;
    return [...new Set([...own.keys(), ...children.keys()])];
  }

  /** Lists the test files that load a source file, the nearest first. */
  nearest(file: string): string[] {
    const tests = [...this.#loaded].flatMap(([test, { own, children }]) => {
      const distance = own.get(file) ?? children.get(file);
      if (distance === undefined) return [];
      const shared = sharedWords(test, file);
      const isSlow = this.#slow.has(test);
      if (shared === 0 && isSlow) return [];
      const group = (own.has(file) ? 0 : 1) + (shared > 0 ? 0 : 2);
      return [{ test, group, isSlow, shared, distance }];
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

  /** Lists the test files that import a source file and are not among the nearest, slow ones last. */
  farther(file: string): string[] {
    const nearest = new Set(this.nearest(file));
    const tests = [...this.#loaded].flatMap(([test, { own }]) => {
      const distance = nearest.has(test) ? undefined : own.get(file);
      return distance === undefined ? [] : [{ test, distance, isSlow: this.#slow.has(test) }];
    });
    const sorted = tests.sort((a, b) => {
      return Number(a.isSlow) - Number(b.isSlow) || a.distance - b.distance;
    });
    return sorted.map(({ test }) => test);
  }
}

/**
 * Number of words that the paths of a test file and a source file share; 0 in different folders.
 */
function sharedWords(test: string, source: string): number {
  const folder = (path: string) => path.split("/")[1];
  if (folder(test) !== folder(source)) return 0;
  const words = (path: string) => new Set(path.replace(/(\.test)?\.tsx?$/, "").split(/[/-]/));
  return words(test).intersection(words(source)).size;
}

function isCounted(lines: Lines, file: string, line: number): boolean {
  // A line without a count is inside a statement.
  return lines.get(file)?.has(line) === false;
}

function linesOf(lcov: string): Lines {
  const lines: Lines = new Map();
  let idle = new Set<number>();
  for (const record of lcov.split("\n")) {
    const [kind, value = ""] = record.split(/:(.*)/s);
    if (kind === "SF") {
      idle = new Set();
      lines.set(normalize(value), idle);
    } else if (kind === "DA") {
      const [line, count] = value.split(",").map(Number) as [number, number];
      if (count === 0) idle.add(line);
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
