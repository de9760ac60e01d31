import { readFileSync } from "node:fs";

/** State and CPU time of a process's main thread, as the kernel reports them (proc(5)). */
export interface ThreadState {
  /** One letter: R runs or waits for CPU, D waits for a disk, S sleeps, T is stopped. */
  state: string;
  /** CPU time in the kernel's ticks. */
  ticks: number;
}

/** Reads the state of a process's main thread; undefined when the process is gone. */
export function readMainThread(pid: number): ThreadState | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/stat`, "latin1");
    // The fields follow the process's name, which may contain anything but ends with the last
    // parenthesis.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0]!, ticks: Number(fields[11]) + Number(fields[12]) };
  } catch {
    return undefined;
  }
}

/** Whether the thread used CPU since `before`, or waits for CPU or disk now. */
export function hasProgressed(
  before: ThreadState | undefined,
  now: ThreadState | undefined,
): boolean {
  if (before === undefined || now === undefined) return false;
  return now.ticks > before.ticks || now.state === "R" || now.state === "D";
}
