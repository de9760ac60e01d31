import { readFileSync } from "node:fs";

/** What Linux tells of another process. Both files stay readable when it is not dumpable. */
export interface Usage {
  residentBytes: number;
  /** CPU time of its main thread, where user code runs; helper threads collect garbage. */
  cpuMs: number;
}

/** Length of a clock tick in `/proc` (USER_HZ is 100 on every Linux). */
const TICK_MS = 10;
/** utime and stime, counted from the field after the command name (proc(5), fields 14 and 15). */
const UTIME = 11;
const STIME = 12;

/** Undefined when the process is gone or the system has no `/proc`. */
export function usage(pid: number): Usage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      residentBytes: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024,
      cpuMs: (Number(fields[UTIME]) + Number(fields[STIME])) * TICK_MS,
    };
  } catch {
    return undefined;
  }
}
