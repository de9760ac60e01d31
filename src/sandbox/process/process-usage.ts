import { readFileSync } from "node:fs";

/**
 * Resources that another process uses, as `/proc` reports them. The files stay readable when the
 * process is not dumpable.
 */
export interface ProcessUsage {
  residentBytes: number;
  /** Resident memory that is backed by no file: the process's end gives it back. */
  anonymousBytes: number;
  threads: number;
  /** CPU time of all its threads. */
  cpuMs: number;
  /** CPU time of the main thread, where user code runs; the others collect garbage and compile. */
  mainCpuMs: number;
}

/** Length of a clock tick in `/proc` (USER_HZ is 100 on every Linux). */
const TICK_MS = 10;
/** utime and stime, counted from the field after the command name (proc(5), fields 14 and 15). */
const UTIME = 11;
const STIME = 12;

/** Reads the usage of a process; undefined when it is gone or the system has no `/proc`. */
export function readProcessUsage(pid: number): ProcessUsage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return {
      residentBytes: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024,
      anonymousBytes: Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024,
      threads: Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 0),
      cpuMs: cpuMsOf(`/proc/${pid}/stat`),
      mainCpuMs: cpuMsOf(`/proc/${pid}/task/${pid}/stat`),
    };
  } catch {
    return undefined;
  }
}

function cpuMsOf(path: string): number {
  const stat = readFileSync(path, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[UTIME]) + Number(fields[STIME])) * TICK_MS;
}
