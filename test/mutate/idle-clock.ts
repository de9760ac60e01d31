import { readdirSync, readFileSync } from "node:fs";

/**
 * Clock of a process and its descendants that stands while a thread of theirs waits for a
 * processor, so that a run takes as long on a busy machine as on an idle one.
 */
export class IdleClock {
  readonly #pid: number;
  #ms = 0;
  #at = performance.now();
  /** Milliseconds that each thread has waited for a processor since it started. */
  #waits = new Map<string, number>();

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Milliseconds up to now; it is read often, since processes that have ended are not counted. */
  read(): number {
    const now = performance.now();
    const waits = new Map(processesBelow(this.#pid).flatMap(waitsOf));
    const longest = [...waits].map(([thread, ms]) => ms - (this.#waits.get(thread) ?? 0));
    this.#ms += Math.max(0, now - this.#at - Math.max(0, ...longest));
    this.#at = now;
    this.#waits = waits;
    return this.#ms;
  }
}

function processesBelow(pid: number): number[] {
  const children = Map.groupBy(runningProcesses(), ({ parent }) => parent);
  const found = [pid];
  // A loop over an array also visits what is added meanwhile.
  for (const one of found) found.push(...(children.get(one) ?? []).map(({ pid }) => pid));
  return found;
}

function runningProcesses(): { pid: number; parent: number }[] {
  return list("/proc").flatMap((name) => {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : "";
    // The name in parentheses may contain anything.
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    return parent === undefined ? [] : [{ pid: Number(name), parent: Number(parent) }];
  });
}

function waitsOf(pid: number): [thread: string, ms: number][] {
  return list(`/proc/${pid}/task`).map((thread) => {
    const ns = read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[1] ?? "0";
    return [thread, Number(ns) / 1e6];
  });
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
