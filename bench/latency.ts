/**
 * Measures latency against rate of a bare `Bun.serve`, a durable bare server, pixelmill, and
 * pixelmill on tmpfs (without the disk's cost), each at fractions of its highest rate; then the
 * throughput in bytes per second with URLs of 32,768 bytes and with ordinary ones. Writes an SVG
 * beside the JSON.
 *
 *   bun bench/latency.ts [--seconds 1] [--rounds 11] [--connections 64] [--command dist/pixelmill]
 */
import { parseArgs } from "node:util";
import { measure, median, type Paced, pace, type Target } from "./load.ts";
import { plot } from "./plot.ts";
import { report, resultsDirectory, round2 } from "./report.ts";
import { bareBun, durableBun, hasMemory, pixelmill } from "./targets.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "1" },
    rounds: { type: "string", default: "11" },
    connections: { type: "string", default: "64" },
    command: { type: "string", default: "dist/pixelmill" },
  },
});
const connections = Number(values.connections);
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
/** Rounds whose median is the highest rate. */
const HIGHEST_ROUNDS = 5;
const SHARES = [0.1, 0.25, 0.5, 0.75, 0.9];

interface Point {
  share: number;
  rate: number;
  p50: number;
  p99: number;
}

async function curves(targets: Target[]): Promise<{ name: string; points: Point[] }[]> {
  const highest = await alternate(targets, HIGHEST_ROUNDS, (target) =>
    measure(target, { connections, seconds }),
  );
  const points = new Map<Target, Point[]>(targets.map((target) => [target, []]));
  for (const share of SHARES) {
    const loads = await alternate(targets, rounds, (target) => {
      const rate = Math.round(medianOf(highest.get(target)!, "rps") * share);
      return pace(target, { connections, seconds, rate });
    });
    for (const [target, all] of loads) {
      const of = (key: keyof Paced) => round2(medianOf(all, key));
      points.get(target)!.push({ share, rate: of("rps"), p50: of("p50Ms"), p99: of("p99Ms") });
    }
  }
  return targets.map((target) => ({ name: target.name, points: points.get(target)! }));
}

/** Runs rounds that alternate between the targets, so that a busy machine affects all alike. */
async function alternate<T>(
  targets: Target[],
  times: number,
  load: (target: Target) => Promise<T>,
): Promise<Map<Target, T[]>> {
  const loads = new Map<Target, T[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < times; round++) {
    for (const target of targets) loads.get(target)!.push(await load(target));
  }
  return loads;
}

const medianOf = (loads: Paced[], key: keyof Paced) => median(loads.map((load) => load[key]));

const targets = [await bareBun(), await durableBun(), await pixelmill(values)];
if (hasMemory) targets.push(await pixelmill({ ...values, inMemory: true }));
const measured = await curves(targets);
for (const target of targets) await target.stop();
await report(
  "latency",
  measured.flatMap(({ name, points }) =>
    points.map(({ share, rate, p50, p99 }, index) => ({
      target: name,
      "fraction of highest rate": share,
      "responses per second": Math.round(rate),
      "p50 ms": p50,
      "p99 ms": p99,
      "p99 ratio to bare": round2(p99 / measured[0]!.points[index]!.p99),
    })),
  ),
);
await Bun.write(
  `${resultsDirectory}/latency.svg`,
  plot({
    title: "p99 latency against rate",
    x: "answers per second",
    y: "p99 ms",
    lines: measured.map(({ name, points }) => ({
      name,
      points: points.map(({ rate, p99 }) => [rate, p99] as const),
    })),
  }),
);

const sizes = [];
for (const long of [false, true]) {
  const target = await pixelmill({ ...values, long });
  const bytes = target.url.length - new URL(target.url).origin.length;
  const load = await measure(target, { connections, seconds });
  await target.stop();
  sizes.push({
    "URL bytes": bytes,
    "responses per second": Math.round(load.rps),
    "MB per second": round2((load.rps * bytes) / 1e6),
    "MB per CPU-second": round2((load.perCpuSecond * bytes) / 1e6),
    "p99 ms": load.p99Ms,
    failures: load.failures,
  });
}
await report("urls", sizes);
