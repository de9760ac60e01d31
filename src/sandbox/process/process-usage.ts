import { readFileSync } from "node:fs";

/**
 * Resource usage of another process. It is read from files in `/proc` that can be read even if the
 * process is not dumpable.
 */
export type ProcessUsage = NonNullable<ReturnType<typeof readProcessUsage>>;

/**
 * Milliseconds of a clock tick, the unit of CPU time in `/proc` (USER_HZ is 100 on every Linux).
 */
const TICK_MS = 10;
/**
 * Index of the field `utime` (CPU time; field 14 in proc(5)) in the list of the fields of
 * `/proc/…/stat` after the command name. The next field is `stime`.
 */
const UTIME = 11;
const STIME = 12;

/**
 * Reads the resource usage of a process. Returns undefined when the process has ended or the system
 * has no `/proc`.
 */
export function readProcessUsage(pid: number) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return {
      residentBytes: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024,
      /**
       * Resident memory in bytes that is not backed by a file. The system gets it back when the
       * process ends.
       */
      anonymousBytes: Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024,
      threads: Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 0),
      /** CPU time in ms of all threads of the process. */
      cpuMs: cpuMsOf(`/proc/${pid}/stat`),
      /**
       * CPU time in ms of the main thread, which runs user code. The other threads collect garbage
       * and compile code.
       */
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
