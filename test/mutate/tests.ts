import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Result of a file's tests: "stopped" is a run that did not end, or that took all memory. */
export type Ending = "passed" | "failed" | "stopped";

const MEMORY_BYTES_MAX = 3 * 2 ** 30;
const PAGE_BYTES = 4096;
const LOOK_MS = 200;

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
): Promise<Ending> {
  const child = spawn(
    process.execPath,
    ["test", `./${file}`, "--bail=1", "--timeout", String(msMax), ...more],
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
  const late = new AbortController();
  const code = await Promise.race([exit, stop(child, msMax, late.signal)]);
  late.abort();
  end(child);
  await exit;
  running.delete(child);
  if (code === "stopped") return code;
  return code === 0 ? "passed" : "failed";
}

/** Resolves when the child exceeds its time or its memory. */
async function stop(child: ChildProcess, msMax: number, signal: AbortSignal): Promise<"stopped"> {
  const began = performance.now();
  while (performance.now() - began < msMax && memoryOf(child.pid) < MEMORY_BYTES_MAX) {
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
