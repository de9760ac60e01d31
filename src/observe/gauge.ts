import { Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

/** Registers a gauge without labels that shows what `value` returns at the time of a scrape. */
export function showGauge(metrics: Metrics, name: string, help: string, value: () => number) {
  new Gauge({
    name,
    help,
    registers: [metrics],
    collect() {
      this.set(value());
    },
  });
}
