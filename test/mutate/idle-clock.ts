import { readdirSync, readFileSync } from "node:fs";

/** Milliseconds for which a thread has run, and has waited for a processor, since it started. */
interface Times {
  ran: number;
  waited: number;
}

/**
 * Clock of a process and its descendants that stands while threads of theirs wait for a processor,
 * so that a run takes about as long on a busy machine as on an idle one. It advances at least by
 * the time for which they run, so that an endless loop ends.
 */
export class IdleClock {
  readonly #pid: number;
  #ms = 0;
  #at = performance.now();
  #times = new Map<string, Times>();

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Milliseconds up to now; it is read often, since processes that have ended are not counted. */
  read(): number {
    const now = performance.now();
    const passed = now - this.#at;
    const times = new Map(processesBelow(this.#pid).flatMap(timesOf));
    let [ran, waited] = [0, 0];
    for (const [thread, time] of times) {
      const before = this.#times.get(thread);
      ran += time.ran - (before?.ran ?? 0);
      waited += time.waited - (before?.waited ?? 0);
    }
    this.#ms += Math.max(Math.min(passed, ran), passed - waited);
    this.#at = now;
    this.#times = times;
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

function timesOf(pid: number): [thread: string, times: Times][] {
  return list(`/proc/${pid}/task`).map((thread) => {
    const text = read(`/proc/${pid}/task/${thread}/schedstat`);
    const [ran = 0, waited = 0] = text.split(" ").map((ns) => Number(ns) / 1e6);
    return [thread, { ran, waited }];
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
