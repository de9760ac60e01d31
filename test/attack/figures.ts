import type { Sample } from "../crash/load.ts";

/** Requests of one kind in a span of time. */
export interface Figures {
  /** Number of answers by status; 0 is a broken connection or a timeout. */
  statuses: Record<number, number>;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** An answer of a node to `GET /ready`. */
export interface Look {
  node: string;
  /** By `performance.now()`. */
  at: number;
  status: number;
  /** Sentences of the checks that failed. */
  failed: string[];
}

/** Time before and after a look within which a node's answers show whether it works. */
const AROUND_MS = 1_500;
/** Requests around a look, at least, that show it. */
const REQUESTS_MIN = 5;

/**
 * The looks at which a node said that it is not ready, although it had answered each request that
 * began around that time.
 */
export function wronglyUnready(looks: readonly Look[], samples: readonly Sample[]): Look[] {
  return looks.filter(({ node, at, status }) => {
    if (status !== 503) return false;
    const around = samples.filter(
      (it) => it.node === node && Math.abs(it.startedAt - at) <= AROUND_MS,
    );
    return around.length >= REQUESTS_MIN && around.every((it) => it.status === 200);
  });
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
