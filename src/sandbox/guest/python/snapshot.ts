/**
 * Makes the memory snapshot from which Python guest processes start: CPython with its standard
 * modules imported and the runner (the Python code that answers requests) loaded. The snapshot
 * takes 3 s to make and 0.2 s to restore. Only the version of Bun that made it can restore it.
 *
 * The command `bun src/sandbox/guest/python/snapshot.ts` makes the snapshot, unless it is up to
 * date. In a source checkout, each Python guest process does the same when it starts.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version as pyodideVersion } from "pyodide";
import {
  FETCH_REQUEST_CHARS_MAX,
  FETCHES_MAX,
  GUEST_ERROR_CHARS_MAX,
  GUEST_IMPORTS_MAX,
  GUEST_LOG_CHARS_MAX,
  GUEST_OUTPUT_CHARS_MAX,
  GUEST_OUTPUTS_MAX,
} from "../../../settings/limits.ts";
import { GUEST_ANSWER_OUTPUTS_MAX, GUEST_ERRORS_CHARS_MAX } from "../../guest-limits.ts";
import type { Pyodide } from "./pyodide.ts";
import { withoutChance } from "./without-chance.ts";

const RUNNER = join(import.meta.dir, "runner");
const DIRECTORY = join(import.meta.dir, "../../../../dist/python");
const SNAPSHOT = join(DIRECTORY, "snapshot.zst");
const KEY = join(DIRECTORY, "snapshot.key");
/**
 * zstd level of the snapshot: the lowest one that finds repetitions across the whole heap. At this
 * level the snapshot has 5.6 MB, at level 9 it has 7.3 MB.
 */
const ZSTD_LEVEL = 20;

/** Returns the runner's Python files by name. `limits.py` is generated from the server's limits. */
function runnerFiles(): [name: string, text: string][] {
  const names = readdirSync(RUNNER).filter((name) => name.endsWith(".py"));
  const bounds = [
    `ANSWER_OUTPUTS_MAX = ${GUEST_ANSWER_OUTPUTS_MAX}`,
    `ERROR_CHARS_MAX = ${GUEST_ERROR_CHARS_MAX}`,
    `ERRORS_CHARS_MAX = ${GUEST_ERRORS_CHARS_MAX}`,
    `IMPORTS_MAX = ${GUEST_IMPORTS_MAX}`,
    `LOG_CHARS_MAX = ${GUEST_LOG_CHARS_MAX}`,
    `OUTPUT_CHARS_MAX = ${GUEST_OUTPUT_CHARS_MAX}`,
    `OUTPUTS_MAX = ${GUEST_OUTPUTS_MAX}`,
    `QUESTION_CHARS_MAX = ${FETCH_REQUEST_CHARS_MAX}`,
    `QUESTIONS_MAX = ${FETCHES_MAX}`,
  ].join("\n");
  return [
    ["limits.py", bounds],
    ...names
      .sort()
      .map((name): [string, string] => [name, readFileSync(join(RUNNER, name), "utf8")]),
  ];
}

/**
 * Makes the snapshot, unless the existing one was made from the same code and versions. Returns
 * whether it was made.
 */
export async function ensureSnapshot(): Promise<boolean> {
  const files = runnerFiles();
  const inputs = [Bun.version, pyodideVersion, readFileSync(import.meta.path, "utf8"), files];
  const key = Bun.hash(JSON.stringify(inputs)).toString(16);
  if (keyOnDisk() === key) return false;
  const snapshot = await makeSnapshot(files);
  mkdirSync(DIRECTORY, { recursive: true });
  put(SNAPSHOT, await Bun.zstdCompress(snapshot, { level: ZSTD_LEVEL }));
  put(KEY, key);
  return true;
}

function keyOnDisk(): string | undefined {
  try {
    return readFileSync(KEY, "utf8");
  } catch {
    return undefined;
  }
}

/** Replaces a file atomically, because several guests may make the snapshot at the same time. */
function put(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
}

/**
 * Makes the snapshot with a fixed clock and fixed random numbers, so that the same inputs give the
 * same bytes.
 */
async function makeSnapshot(files: [name: string, text: string][]): Promise<Uint8Array> {
  const { loadForSnapshot } = await import("./pyodide.ts");
  using _chance = withoutChance();
  return snapshotOf(await loadForSnapshot(), files);
}

function snapshotOf(pyodide: Pyodide, files: [name: string, text: string][]): Uint8Array {
  pyodide.FS.mkdirTree("/build/runner");
  for (const [name, text] of files) pyodide.FS.writeFile(`/build/runner/${name}`, text);
  pyodide.runPython(`
import sys
sys.path.insert(0, "/build")
import runner.prepare
runner.prepare.prepare()
sys.path.remove("/build")
del sys, runner
`);
  return pyodide.makeMemorySnapshot();
}

if (import.meta.main) {
  const made = await ensureSnapshot();
  process.stdout.write(made ? "Made dist/python/snapshot.zst\n" : "");
}
