import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { IdleClock } from "./idle-clock.ts";

/** Result of a file's tests: "stopped" is a run that did not end, or that took all memory. */
export type Ending = "passed" | "failed" | "stopped";

export interface Run {
  ending: Ending;
  /** Time that it would have taken on an idle machine. */
  ms: number;
  /** Whether it waited for a processor most of the time, so that a deadline may have passed. */
  isSlowed: boolean;
}

const MEMORY_BYTES_MAX = 3 * 2 ** 30;
const PAGE_BYTES = 4096;
const LOOK_MS = 200;
/** Timeout of each test: above any time that a run takes, which the clock of the run bounds. */
const TEST_MS_MAX = 3_600_000;

const running = new Set<ChildProcess>();

/** Kills all test runs, with the processes that they started. */
export function endTests(): void {
  for (const child of running) end(child);
}

/** Runs one test file below `directory`, up to the first failure. */
export async function runTests(
  { directory, temporary }: { directory: string; temporary: string },
  file: string,
  { msMax, more = [] }: { msMax: number; more?: string[] },
): Promise<Run> {
  const child = spawn(
    process.execPath,
    ["test", `./${file}`, "--bail=1", "--timeout", String(TEST_MS_MAX), ...more],
    {
      cwd: directory,
      env: { ...process.env, TMPDIR: temporary },
      // A separate process group, which is killed as a whole.
      detached: true,
      stdio: "ignore",
    },
  );
  running.add(child);
  const exit = new Promise<number | null>((resolve) => {
    child.once("exit", resolve);
    child.once("error", () => resolve(null));
  });
  const began = performance.now();
  const clock = new IdleClock(child.pid ?? 0);
  const late = new AbortController();
  const code = await Promise.race([exit, stop(child, clock, msMax, late.signal)]);
  late.abort();
  end(child);
  await exit;
  running.delete(child);
  const ms = clock.read();
  return {
    ending: code === "stopped" ? code : code === 0 ? "passed" : "failed",
    ms: Math.ceil(ms),
    isSlowed: ms < (performance.now() - began) / 2,
  };
}

/** Resolves when the child exceeds its time or its memory. */
async function stop(
  child: ChildProcess,
  clock: IdleClock,
  msMax: number,
  signal: AbortSignal,
): Promise<"stopped"> {
  while (clock.read() < msMax && memoryOf(child.pid) < MEMORY_BYTES_MAX) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
  }
  return "stopped";
}

function memoryOf(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

function end({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has no process any more.
  }
}
