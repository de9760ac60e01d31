/**
 * Runs the test files of one tier, several processes at a time.
 *
 *   bun test/run.ts [quick|long] [PATH …]
 *
 * Prints one line for each process, the output of each file that fails, the reasons of skipped
 * tests, the slowest files, and at the end `N passed, N failed`.
 */
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { executableVariable } from "./e2e/command.ts";
import { buildExecutable } from "./run/executable.ts";
import { type FileResult, parseOutput } from "./run/output.ts";
import { report } from "./run/report.ts";
import { shardsOf } from "./run/shards.ts";
import { killSpinning } from "./run/spinning.ts";
import { seedVariable } from "./seed.ts";
import { tierVariable } from "./tier.ts";

/** Timeout of a test, which only a hang reaches: tests wait for events, not for a duration. */
const TEST_MS_MAX = "300000";
/** Timeout of a process of the suite, generous for a slow machine. */
const SHARD_MS_MAX = 25 * 60_000;
/**
 * Maximum number of failed files that run again. More failures are no accident of a busy machine.
 */
const FILES_AGAIN_MAX = 4;

const [tier = "quick", ...paths] = process.argv.slice(2);
if (tier !== "quick" && tier !== "long") throw new Error(`Expected quick or long, got ${tier}`);

/**
 * Number of concurrent processes: on average each uses a quarter of a core, and waits otherwise.
 */
const processes = availableParallelism() + (tier === "quick" ? 7 : 3);
const began = performance.now();
const shards = shardsOf(filesOf(tier, paths));
/** Directory for temporary files of all tests, removed at the end. */
const temporary = mkdtempSync(join(tmpdir(), "suite-"));
chmodSync(temporary, 0o1777);
const seed = process.env[seedVariable] ?? seedOfCommit();
/** A run of named files starts servers from the checkout. */
const executable = paths.length === 0 ? join(temporary, "pixelmill") : undefined;
const results: FileResult[] = [];
const running = new Set<Bun.Subprocess>();
/** Seconds of CPU time that the processes have used. */
let cpuSeconds = 0;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop(signal));
// Tests that start servers wait for the file.
if (executable !== undefined) {
  buildExecutable(executable).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    stop("SIGTERM");
  });
}

const queue = shards.values();
await Promise.all(
  Array.from({ length: processes }, async () => {
    for (const files of queue) results.push(...(await run(files)));
  }),
);
const unsteady = await runAgain(results);
removeTemporary();
const { text, passed, failed } = report(results);
for (const file of unsteady) process.stdout.write(`UNSTEADY ${file}: passed only alone\n`);
const seconds = Math.round((performance.now() - began) / 1_000);
process.stdout.write(
  `${text}\n${tier} tier: ${results.length} files in ${seconds} s, CPU ${Math.round(cpuSeconds)} s, ${seedVariable}=${seed}\n`,
);
const counts = process.env.TEST_COUNTS;
// CI runs two tiers, and prints one sum.
if (counts === undefined) process.stdout.write(`${passed} passed, ${failed} failed\n`);
else appendFileSync(counts, `${passed} ${failed}\n`);
process.exit(failed === 0 ? 0 : 1);

function filesOf(tier: "quick" | "long", paths: string[]): string[] {
  const files = [...new Glob("test/**/*.test.{ts,tsx}").scanSync(".")].sort();
  const chosen = files.filter((file) => {
    const isLong = /\.long\.test\.tsx?$/.test(file);
    if (tier === "quick") return !isLong;
    return isLong || /from "[./]+tier\.ts"/.test(readFileSync(file, "utf8"));
  });
  if (paths.length === 0) return chosen;
  return chosen.filter((file) => paths.some((path) => file.startsWith(path)));
}

/**
 * Runs failed files again, alone on the machine, and puts their new results into `results`. Returns
 * the files that passed then. Each is a defect: a test that depends on how busy the machine is.
 */
async function runAgain(results: FileResult[]): Promise<string[]> {
  const failed = results.filter((result) => result.failed > 0);
  if (failed.length > FILES_AGAIN_MAX) return [];
  const unsteady: string[] = [];
  for (const result of failed) {
    const [again] = await run([result.file]);
    if (again === undefined || again.failed > 0) continue;
    results[results.indexOf(result)] = again;
    unsteady.push(result.file);
  }
  return unsteady;
}

/** A checkout without Git has the seed 0. */
function seedOfCommit(): string {
  const git = Bun.spawnSync(["sh", "-c", "git rev-parse HEAD"], { stderr: "ignore" });
  return String(Number.parseInt(git.stdout.toString().slice(0, 7) || "0", 16));
}

async function run(files: string[]): Promise<FileResult[]> {
  const started = performance.now();
  const child = Bun.spawn(
    [process.execPath, "test", "--timeout", TEST_MS_MAX, ...files.map((file) => `./${file}`)],
    {
      env: {
        ...process.env,
        [tierVariable]: tier,
        [seedVariable]: seed,
        TMPDIR: temporary,
        ...(executable !== undefined && { [executableVariable]: executable }),
        // Processes of the quick tier end before the last optimizing compilers, that of
        // WebAssembly too, pay for themselves: without them tests take a seventh of the CPU time
        // less, and a Python guest a quarter. The long tier runs with them. The compiler before
        // the last one waits for twice as many calls.
        ...(tier === "quick" && {
          BUN_JSC_useFTLJIT: "0",
          BUN_JSC_useOMGJIT: "0",
          BUN_JSC_thresholdForOptimizeAfterWarmUp: "2000",
          BUN_JSC_thresholdForOptimizeAfterLongWarmUp: "2000",
        }),
      },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      // A group of its own, so that its servers end with it when the run is stopped.
      detached: true,
      timeout: SHARD_MS_MAX,
      killSignal: "SIGKILL",
    },
  );
  running.add(child);
  // A process that a failed test has left keeps the streams open.
  const exited = child.exited.finally(() => endGroup(child.pid));
  const lines: { at: number; line: string }[] = [];
  const [spinningSeconds] = await Promise.all([
    killSpinning(child, () => lines.length),
    ...[child.stdout, child.stderr].map((stream) => readLines(stream, lines)),
  ]);
  const exitCode = await exited;
  running.delete(child);
  const ended = performance.now();
  const found = parseOutput(files, lines, { started, ended, exitCode, spinningSeconds });
  const cpu = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  cpuSeconds += cpu;
  show(files, found, cpu);
  return found;
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  lines: { at: number; line: string }[],
) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of stream) {
    const text = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = text.pop()!;
    for (const line of text) lines.push({ at: performance.now(), line });
  }
  if (rest !== "") lines.push({ at: performance.now(), line: rest });
}

function show(files: string[], found: FileResult[], cpu: number): void {
  const tests = found.reduce((sum, { passed, failed }) => sum + passed + failed, 0);
  const seconds = found.reduce((sum, file) => sum + file.seconds, 0);
  const isBroken = found.some(({ failed }) => failed > 0);
  const name = files.length === 1 ? files[0] : `${files[0]} and ${files.length - 1} more`;
  const figures = `${tests} tests, ${seconds.toFixed(1)} s, CPU ${cpu.toFixed(1)} s`;
  process.stdout.write(`${isBroken ? "FAIL" : "ok  "} ${name}: ${figures}\n`);
  for (const { file, failed, output } of found) {
    if (failed > 0)
      process.stdout.write(`\n--- ${file} ---\n${output}\n--- end of ${file} ---\n\n`);
  }
}

function stop(signal: "SIGINT" | "SIGTERM"): void {
  for (const { pid, exitCode } of running) if (exitCode === null) process.kill(-pid, "SIGKILL");
  removeTemporary();
  process.exit(signal === "SIGINT" ? 130 : 143);
}

/** Kills the processes that a test process left behind, such as the server of a failed test. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is empty.
  }
}

/** A test that was killed may have left a mounted disk. */
function removeTemporary(): void {
  for (const [, path] of readFileSync("/proc/mounts", "utf8").matchAll(/^\S+ (\S+)/gm)) {
    if (path!.startsWith(temporary)) Bun.spawnSync(["umount", "-l", path!]);
  }
  rmSync(temporary, { recursive: true, force: true });
}
