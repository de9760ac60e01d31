import { formatDuration, isolated } from "../format.ts";

/** Texts of the charts that show metrics over time. */
export const metricTexts = {
  range: "Range of the charts",
  metrics: "Metrics",
  lastHour: "Last hour",
  lastDay: "Last 24 hours",
  lastWeek: "Last 7 days",
  lastMonth: "Last 30 days",
  eventsPerMinute: "Events per minute",
  deliveryLatency: "Delivery latency per attempt",
  batchTime: "Run time per batch",
  oldestPending: "Age of the oldest pending event",
  retried: "Retried attempts",
  repeated: "Duplicates",
  median: "Median",
  p99: "p99",
  /** Says how far the points of the charts are apart, and what a gap means. */
  pointsExplained: (seconds: number) =>
    `Points are ${formatDuration(seconds)} apart. A gap is a time in which nothing was recorded.`,
  /** Explains why a chart may show more delivered events than received ones. */
  perDestination: "Delivered, dropped and failed count an event once for each of its destinations.",
  incomplete: (nodes: readonly string[]) =>
    `The latest minutes are incomplete: no answer from ${nodes.join(", ")}.`,
  /** Label of a figure that counts only the last minute. */
  lastMinute: (name: string) => `${isolated(name)}, last minute`,
};
