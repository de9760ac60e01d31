import type { AnswerOf } from "../../api/client.ts";

export type Metrics = AnswerOf<"GET /v2/metrics">;
type Column =
  | ("received" | "delivered" | "dropped" | "failed" | "retried" | "repeated")
  | ("p50Ms" | "p99Ms" | "lagSeconds");

/**
 * Minimum share of a point's interval for which the server must have recorded metrics. With less,
 * the chart has a gap at this point.
 */
const RECORDED_SHARE_MIN = 0.1;

/**
 * Step sizes, in seconds, of a value axis with durations: round numbers of seconds, minutes, hours
 * or days. A step is the difference between two neighbouring labels.
 */
export const SECONDS_STEPS = [
  ...[1, 2, 5, 10, 20, 30],
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * 60),
  ...[1, 2, 6, 12, 24, 48, 120, 240].map((hours) => hours * 3_600),
];

/** Returns the start times of a chart's points, in seconds since the epoch. */
export function pointTimes({ from, stepSeconds, recordedSeconds }: Metrics): number[] {
  const first = Date.parse(from) / 1_000;
  return recordedSeconds.map((_, index) => first + index * stepSeconds);
}

/**
 * Returns the events per minute at each point of a chart, or null for a gap. A rate counts only the
 * time in which the server recorded metrics, which may be shorter than the point's interval.
 */
export function perMinute(metrics: Metrics, column: Column): (number | null)[] {
  const { recordedSeconds, stepSeconds } = metrics;
  return metrics[column].map((count, index) => {
    const seconds = recordedSeconds[index] ?? 0;
    if (count === null || seconds < RECORDED_SHARE_MIN * stepSeconds) return null;
    return (60 * count) / seconds;
  });
}
