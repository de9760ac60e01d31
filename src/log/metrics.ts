import { Counter, Gauge, Histogram } from "prom-client";
import type { Metrics } from "../observe/metrics.ts";

export type WriterMetrics = ReturnType<typeof writerMetrics>;

/** Registers the metrics of this process's log writer. */
export function writerMetrics(metrics: Metrics) {
  const registers = [metrics];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  return {
    records: counter("pixelmill_log_appended_records_total", "Records that are on disk"),
    bytes: counter("pixelmill_log_appended_bytes_total", "Bytes of blocks that are on disk"),
    rejected: counter("pixelmill_log_rejected_records_total", "Records that the disk did not take"),
    flushSeconds: new Histogram({
      name: "pixelmill_log_flush_seconds",
      help: "Time until a batch of records is on disk",
      buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5],
      registers,
    }),
    healthy: new Gauge({
      name: "pixelmill_log_healthy_ratio",
      help: "1 while the event log can be written, else 0",
      registers,
    }),
  };
}

/** Registers the metrics of this process's log readers. */
export function readerMetrics(metrics: Metrics) {
  const registers = [metrics];
  return {
    damagedBytes: new Counter({
      name: "pixelmill_log_damaged_bytes_total",
      help: "Bytes of event log segments that readers skipped as damaged",
      registers,
    }),
    missingRecords: new Counter({
      name: "pixelmill_log_missing_records_total",
      help: "Sequence numbers without a record that readers passed over",
      registers,
    }),
  };
}
