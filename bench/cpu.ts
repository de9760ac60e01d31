import { dlopen, FFIType, ptr } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";
import { childrenOf } from "../test/e2e/server.ts";

/**
 * CPU time of a server and its children in µs, by kind of process. `compilers` is the part of all
 * of them that threads of the JIT compilers took: it shrinks for as long as a server runs, and
 * differs by round.
 */
export type CpuByPart = Record<"server" | "ingest" | "guests" | "compilers", number>;

export function cpuByPart(server: number): CpuByPart {
  const cpu = { server: cpuOf(server), ingest: 0, guests: deadChildren(server), compilers: 0 };
  const children = childrenOf(server);
  for (const pid of children) {
    const command = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
    cpu[/ ingest\b/.test(command) ? "ingest" : "guests"] += cpuOf(pid) + deadChildren(pid);
  }
  for (const pid of [server, ...children]) cpu.compilers += cpuOfCompilers(pid);
  return cpu;
}

export function cpuBetween(before: CpuByPart, after: CpuByPart): CpuByPart {
  return {
    server: after.server - before.server,
    ingest: after.ingest - before.ingest,
    guests: after.guests - before.guests,
    compilers: after.compilers - before.compilers,
  };
}

const libc = dlopen("libc.so.6", {
  clock_gettime: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
});
/** The kind of clock that counts the CPU time of a process's threads in nanoseconds. */
const CPUCLOCK_SCHED = 2;

/**
 * CPU time of a process, with its threads that have ended. The ticks of `/proc/…/stat` are 10 ms,
 * as much as a few hundred events cost.
 */
function cpuOf(pid: number): number {
  const time = new BigInt64Array(2);
  const clock = (~pid << 3) | CPUCLOCK_SCHED;
  if (libc.symbols.clock_gettime(clock, ptr(time)) !== 0) return 0;
  return Number(time[0]) * 1e6 + Number(time[1]) / 1e3;
}

/** CPU time of the JIT's threads, of which those that have ended are missing. */
function cpuOfCompilers(pid: number): number {
  let cpu = 0;
  for (const task of tasksOf(pid)) {
    if (!/^(JITWorker|JSCWarmUp)/.test(read(`/proc/${pid}/task/${task}/comm`))) continue;
    cpu += Number(read(`/proc/${pid}/task/${task}/schedstat`).split(" ")[0]) / 1_000;
  }
  return cpu;
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

const MICROSECONDS_PER_TICK = 10_000;

/** CPU time of a process's children that ended: guests that were replaced. */
function deadChildren(pid: number): number {
  const fields = read(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ");
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * MICROSECONDS_PER_TICK;
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
