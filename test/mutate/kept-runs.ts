import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Lines that the test's own process did not execute, by loaded file. */
export type Lines = Map<string, Set<number>>;

/** Run of a test file that passed. */
export interface PassedRun {
  ms: number;
  lines: Lines;
  /** Files of which other lines may run now: the mutated one, and those that changed since. */
  unsure: ReadonlySet<string>;
}

/** Form of a run on disk: `hashes` are those of the files that the test loads. */
interface KeptRun {
  ms: number;
  hashes: Record<string, string>;
  lines: Record<string, number[]>;
  unsure: string[];
}

/** Passed runs of test files, kept on disk for later mutation runs. */
export class KeptRuns {
  readonly #root: string;
  readonly #directory: string;
  readonly #hashes = new Map<string, string>();

  constructor(root: string) {
    this.#root = root;
    this.#directory = join(root, "node_modules/.cache/mutate");
    mkdirSync(this.#directory, { recursive: true });
  }

  /** Finds the kept run of a test that loads these files, unless the test itself has changed. */
  find(test: string, loaded: readonly string[]): PassedRun | undefined {
    let kept: KeptRun;
    try {
      kept = JSON.parse(readFileSync(this.#pathOf(test), "utf8"));
    } catch {
      return undefined;
    }
    const changed = loaded.filter((file) => kept.hashes[file] !== this.#hashOf(file));
    if (changed.includes(test)) return undefined;
    const lines = Object.entries(kept.lines).map(([file, idle]) => [file, new Set(idle)] as const);
    return { ms: kept.ms, lines: new Map(lines), unsure: new Set([...kept.unsure, ...changed]) };
  }

  keep(test: string, loaded: readonly string[], { ms, lines, unsure }: PassedRun): void {
    const kept: KeptRun = {
      ms,
      hashes: Object.fromEntries(loaded.map((file) => [file, this.#hashOf(file)])),
      lines: Object.fromEntries([...lines].map(([file, idle]) => [file, [...idle]])),
      unsure: [...unsure],
    };
    writeFileSync(this.#pathOf(test), JSON.stringify(kept));
  }

  #pathOf(test: string): string {
    return join(this.#directory, `${test.replaceAll("/", ",")}.json`);
  }

  #hashOf(file: string): string {
    const known = this.#hashes.get(file);
    if (known !== undefined) return known;
    const hash = String(Bun.hash(readFileSync(join(this.#root, file))));
    this.#hashes.set(file, hash);
    return hash;
  }
}
