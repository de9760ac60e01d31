import { readdirSync, readFileSync } from "node:fs";
import { childrenOf } from "../test/e2e/server.ts";

/** CPU time of a server and its children in µs, by kind of process. */
export type CpuByPart = Record<"server" | "ingest" | "guests", number>;

export function cpuByPart(server: number): CpuByPart {
  const cpu: CpuByPart = { server: cpuOf(server), ingest: 0, guests: deadChildren(server) };
  for (const pid of childrenOf(server)) {
    const command = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
    cpu[/ ingest\b/.test(command) ? "ingest" : "guests"] += cpuOf(pid) + deadChildren(pid);
  }
  return cpu;
}

export function cpuBetween(before: CpuByPart, after: CpuByPart): CpuByPart {
  return {
    server: after.server - before.server,
    ingest: after.ingest - before.ingest,
    guests: after.guests - before.guests,
  };
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/**
 * CPU time of a process from the scheduler's statistics per thread, which are in nanoseconds: the
 * ticks of `stat` are 10 ms, as much as a few hundred events cost.
 */
function cpuOf(pid: number): number {
  const times = tasksOf(pid).map((task) => read(`/proc/${pid}/task/${task}/schedstat`));
  return times.reduce((sum, text) => sum + Number(text.split(" ")[0]), 0) / 1_000;
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
