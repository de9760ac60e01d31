import type { Sample } from "../crash/load.ts";

/** Requests of one kind in a span of time. */
export interface Figures {
  /** Number of answers by status; 0 is a broken connection or a timeout. */
  statuses: Record<number, number>;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** Figures by kind of the requests that began between two times of `performance.now()`. */
export function figuresOf(
  samples: readonly Sample[],
  from: number,
  to: number,
): Partial<Record<Sample["kind"], Figures>> {
  const inside = samples.filter(({ startedAt }) => startedAt >= from && startedAt < to);
  const kinds = Map.groupBy(inside, ({ kind }) => kind);
  return Object.fromEntries([...kinds].map(([kind, them]) => [kind, summary(them)]));
}

function summary(samples: readonly Sample[]): Figures {
  const ms = samples.map((sample) => sample.ms).sort((one, other) => one - other);
  const statuses: Figures["statuses"] = {};
  for (const { status } of samples) statuses[status] = (statuses[status] ?? 0) + 1;
  const at = (share: number) => Math.round(ms[Math.floor(share * (ms.length - 1))]!);
  return { statuses, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}
