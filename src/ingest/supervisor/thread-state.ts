import { readFileSync } from "node:fs";

/** State and CPU time of a process's main thread, as Linux reports them (proc(5)). */
export type ThreadState = NonNullable<ReturnType<typeof readMainThread>>;

/**
 * Reads the state and the CPU time of a process's main thread; undefined if the process does not
 * exist.
 * - `state`: R runs or waits for the CPU, D waits for a disk, S sleeps, T is stopped.
 * - `ticks`: CPU time in clock ticks of the kernel.
 */
export function readMainThread(pid: number) {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/stat`, "latin1");
    // The fields follow the process's name. The name may contain any character, so they begin after
    // the last parenthesis.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0]!, ticks: Number(fields[11]) + Number(fields[12]) };
  } catch {
    return undefined;
  }
}

/** Whether a thread made progress: used CPU time since `before`, or is in state R or D in `now`. */
export function hasProgressed(
  before: ThreadState | undefined,
  now: ThreadState | undefined,
): boolean {
  if (before === undefined || now === undefined) return false;
  return now.ticks > before.ticks || now.state === "R" || now.state === "D";
}
