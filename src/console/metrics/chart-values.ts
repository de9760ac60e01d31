import type { AnswerOf } from "../../api/client.ts";

export type Metrics = AnswerOf<"GET /v2/metrics">;
type Column =
  | ("received" | "delivered" | "dropped" | "failed" | "retried" | "repeated")
  | ("p50Ms" | "p99Ms" | "lagSeconds");

/** Share of a point's time that must have been recorded. A point with less is a gap. */
const RECORDED_SHARE_MIN = 0.1;

/** Steps of an axis of seconds that divide minutes, hours and days. */
export const SECONDS_STEPS = [
  ...[1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * 60),
  ...[1, 2, 6, 12, 24, 48, 120, 240].map((hours) => hours * 3_600),
];

/** Start times of the points, in seconds since the epoch. */
export function pointTimes({ from, stepSeconds, recordedSeconds }: Metrics): number[] {
  const first = Date.parse(from) / 1_000;
  return recordedSeconds.map((_, index) => first + index * stepSeconds);
}

/**
 * Events per minute of each point, over the recorded time: the last point is not complete, and a
 * restart may have shortened others. Null for a gap.
 */
export function perMinute(metrics: Metrics, column: Column): (number | null)[] {
  const { recordedSeconds, stepSeconds } = metrics;
  return metrics[column].map((count, index) => {
    const seconds = recordedSeconds[index] ?? 0;
    if (count === null || seconds < RECORDED_SHARE_MIN * stepSeconds) return null;
    return (60 * count) / seconds;
  });
}
