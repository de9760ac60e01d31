import { readFileSync } from "node:fs";
import { join } from "node:path";

/** HTTP server under measurement, in separate processes. */
export interface Target {
  name: string;
  url: string;
  /** Processes whose CPU time is the target's cost. */
  pids: number[];
  /** Body that is posted to the URL; a target without it gets GET requests. */
  post?: { bodyFile: string; headers: Record<string, string> };
  /** Destination that receives the pixels, for the report; "nothing" by default. */
  connected?: string;
  /** Resolves when all accepted pixels are delivered, which is part of the cost. */
  settle?(): Promise<void>;
  stop(): Promise<void>;
}

export interface Load {
  /** Responses per second of wall-clock time. */
  rps: number;
  /** Responses per second of the target's CPU time: stable on a shared machine. */
  perCpuSecond: number;
  p50Ms: number;
  p99Ms: number;
  answers: number;
  failures: number;
  /** Fraction of one core that the load generator used; near 1, the generator was the limit. */
  generatorCpu: number;
}

export interface LoadOptions {
  connections: number;
  seconds: number;
  /** Whether each request has a connection of its own. */
  isReconnecting?: boolean;
}

/** Runs autocannon (under Node, in a separate process) against a target. */
export async function measure(target: Target, options: LoadOptions): Promise<Load> {
  const before = cpuSeconds(target.pids);
  const child = Bun.spawn(["node", ...loadCommand(target, options)], {
    stdout: "pipe",
    stderr: "ignore",
    // Targets with TLS have certificates of their own.
    env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: "0" },
  });
  const result = JSON.parse(await new Response(child.stdout).text());
  await child.exited;
  await target.settle?.();
  const cpu = cpuSeconds(target.pids) - before;
  const usage = child.resourceUsage();
  const answers = result["2xx"] as number;
  return {
    rps: answers / result.duration,
    perCpuSecond: answers / cpu,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    answers,
    failures: result.non2xx + result.errors + result.timeouts,
    generatorCpu: usage ? Number(usage.cpuTime.total) / 1e6 / result.duration : Number.NaN,
  };
}

function loadCommand({ url, post }: Target, options: LoadOptions): string[] {
  const [connections, seconds] = [String(options.connections), String(options.seconds)];
  if (post !== undefined) {
    const script = join(import.meta.dir, "post-load.mjs");
    return [script, url, post.bodyFile, connections, seconds, JSON.stringify(post.headers)];
  }
  if (options.isReconnecting) {
    return [join(import.meta.dir, "connection-each.mjs"), url, connections, seconds];
  }
  return [
    "node_modules/autocannon/autocannon.js",
    ...["--json", "--no-progress", "--connections", connections, "--duration", seconds],
    url,
  ];
}

export interface Paced {
  /** Answers per second of wall-clock time. */
  rps: number;
  p50Ms: number;
  p99Ms: number;
  failures: number;
}

/** Sends requests to a target at an even rate (per second), from a separate process. */
export async function pace(
  target: Target,
  options: { connections: number; seconds: number; rate: number },
): Promise<Paced> {
  const { connections, seconds, rate } = options;
  const values = [target.url, rate, seconds, connections].map(String);
  const script = join(import.meta.dir, "paced.ts");
  const child = Bun.spawn([process.execPath, script, ...values], { stdout: "pipe" });
  return JSON.parse(await new Response(child.stdout).text());
}

const TICKS_PER_SECOND = 100;

/** User and system time of all threads (proc(5): fields 14 and 15 of stat). */
export function cpuSeconds(pids: number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return sum + (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }, 0);
}

export const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
