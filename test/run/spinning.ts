import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * CPU time that the main thread of a test process may use without printing a line. A test that is
 * not ended by its own timeout blocks its process, and CPU time is the same on a busy machine.
 */
const CPU_SECONDS_MAX = 240;
const LOOK_MS = 2_000;
/** Unit of CPU time in `/proc`, which Linux fixes for all processes. */
const TICKS_PER_SECOND = 100;

/**
 * Kills the process group of `child` when its main thread computes without printing a line.
 * Resolves with the seconds of CPU time that it used since its last line, or undefined when it
 * ended by itself.
 */
export async function killSpinning(
  child: { pid: number; exited: Promise<unknown> },
  printedLines: () => number,
  { cpuSecondsMax = CPU_SECONDS_MAX, lookMs = LOOK_MS } = {},
): Promise<number | undefined> {
  const ended = new AbortController();
  child.exited.finally(() => ended.abort());
  let since = { lines: printedLines(), cpuSeconds: 0 };
  // A line may wait to be read at the first look, so that a second one decides.
  let isSuspect = false;
  while (!ended.signal.aborted) {
    await sleep(lookMs, undefined, { signal: ended.signal }).catch(() => {});
    const cpuSeconds = mainThreadSeconds(child.pid);
    if (ended.signal.aborted || cpuSeconds === undefined) break;
    const lines = printedLines();
    if (lines !== since.lines) since = { lines, cpuSeconds };
    const used = cpuSeconds - since.cpuSeconds;
    const wasSuspect = isSuspect;
    isSuspect = used >= cpuSecondsMax;
    if (!isSuspect || !wasSuspect) continue;
    process.kill(-child.pid, "SIGKILL");
    return used;
  }
  return undefined;
}

/** CPU time of the main thread, which runs the tests; undefined when the process has ended. */
function mainThreadSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8");
    // The name, in parentheses, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}
