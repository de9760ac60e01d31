/**
 * Latency against rate, ours and a bare `Bun.serve`, each at shares of its own highest rate; then
 * URLs of 32,768 bytes against ordinary ones in bytes per second. Writes an SVG beside the JSON.
 *
 *   bun bench/latency.ts [--seconds 4] [--connections 64] [--command dist/pixelmill]
 */
import { parseArgs } from "node:util";
import { measure, type Target } from "./load.ts";
import { plot } from "./plot.ts";
import { report, resultsDirectory, round2 } from "./report.ts";
import { bareBun, pixelmill } from "./targets.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "4" },
    connections: { type: "string", default: "64" },
    command: { type: "string", default: "dist/pixelmill" },
  },
});
const connections = Number(values.connections);
const seconds = Number(values.seconds);
const SHARES = [0.1, 0.25, 0.5, 0.75, 0.9];

async function curve(target: Target) {
  const highest = (await measure(target, { connections, seconds })).rps;
  const points = [];
  for (const share of SHARES) {
    const rate = Math.round(highest * share);
    const load = await measure(target, { connections, seconds, rate });
    points.push({ share, rate: load.rps, p50: load.p50Ms, p99: load.p99Ms });
  }
  await target.stop();
  return { name: target.name, points };
}

const curves = [await curve(await bareBun()), await curve(await pixelmill(values))];
await report(
  "latency",
  curves.flatMap(({ name, points }) =>
    points.map(({ share, rate, p50, p99 }, index) => ({
      target: name,
      "share of its highest rate": share,
      "answers per second": Math.round(rate),
      "p50 ms": p50,
      "p99 ms": p99,
      "p99 to bare": round2(p99 / curves[0]!.points[index]!.p99),
    })),
  ),
);
await Bun.write(
  `${resultsDirectory}/latency.svg`,
  plot({
    title: "p99 latency against rate",
    x: "answers per second",
    y: "p99 ms",
    lines: curves.map(({ name, points }) => ({
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
    "answers per second": Math.round(load.rps),
    "MB per second": round2((load.rps * bytes) / 1e6),
    "MB per CPU-second": round2((load.perCpuSecond * bytes) / 1e6),
    "p99 ms": load.p99Ms,
    failures: load.failures,
  });
}
await report("urls", sizes);
