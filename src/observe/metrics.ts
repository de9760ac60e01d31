import { collectDefaultMetrics, Registry } from "prom-client";

export type Metrics = Registry;

/**
 * Names of the default metrics of prom-client that are removed: those of heap spaces. Bun has only
 * one heap space. To collect these metrics, Bun would walk the whole heap at each scrape, which
 * takes 70 ms.
 */
const HEAP_SPACES = ["total", "used", "available"].map((what) => {
  return `nodejs_heap_space_size_${what}_bytes`;
});

/**
 * Interval in milliseconds of the timer that measures `nodejs_eventloop_lag_…`; longer pauses of
 * the process are always measured. Each wake-up costs 25 µs of CPU time, which at prom-client's
 * default of 10 ms is half of the CPU time of an idle ingest process.
 */
const LAG_INTERVAL_MS = 50;

/**
 * Creates the metrics registry of one process and labels all metrics with the process's name. Each
 * part of the server registers its own metrics there. The name of a metric ends in its unit.
 */
export function createMetrics(process = "server"): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_INTERVAL_MS });
  for (const name of HEAP_SPACES) registry.removeSingleMetric(name);
  return registry;
}
