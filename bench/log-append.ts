/** Child process of log.ts: measures one design under a closed loop of appends. */

import { readFileSync } from "node:fs";
import { designs } from "./log-designs.ts";

export interface AppendResult {
  records: number;
  seconds: number;
  cpuSeconds: number;
  /** Write amplification: bytes that the process wrote to disk, per byte of records. */
  amplification: number;
  p50Ms: number;
  p99Ms: number;
}

const [name, directory, inFlight, recordBytes, seconds] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const design = await designs[name]!(directory);
const record = Buffer.alloc(Number(recordBytes), "pixel ");

await run(0.5);
const written = writtenBytes();
const cpu = process.cpuUsage();
const startedAt = performance.now();
const waits = await run(Number(seconds));
const used = process.cpuUsage(cpu);
const result: AppendResult = {
  records: waits.length,
  seconds: (performance.now() - startedAt) / 1000,
  cpuSeconds: (used.user + used.system) / 1e6,
  amplification: (writtenBytes() - written) / (waits.length * record.length),
  p50Ms: quantile(waits, 0.5),
  p99Ms: quantile(waits, 0.99),
};
await design.close();
process.stdout.write(JSON.stringify(result));

/** Runs concurrent append loops for some seconds; returns the latency of each append. */
async function run(forSeconds: number): Promise<number[]> {
  const until = performance.now() + forSeconds * 1000;
  const waits: number[] = [];
  const line = async () => {
    for (let at = performance.now(); at < until; ) {
      await design.append(record);
      const now = performance.now();
      waits.push(now - at);
      at = now;
    }
  };
  await Promise.all(Array.from({ length: Number(inFlight) }, line));
  return waits;
}

function writtenBytes(): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}

function quantile(values: number[], share: number): number {
  return values.sort((left, right) => left - right)[Math.floor(values.length * share)]!;
}
