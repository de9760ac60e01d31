import { Counter, Gauge } from "prom-client";
import type { Metrics } from "../observe/metrics.ts";

/**
 * Counts answers by status. Plain numbers until somebody looks: a labelled `inc` for each request
 * would cost a tenth of it.
 */
export function createCount(metrics: Metrics | undefined): (status: number) => void {
  const counts = new Map<number, { status: number; answers: number }>();
  if (metrics !== undefined) {
    new Counter({
      name: "pixelmill_pixel_requests_total",
      help: "Pixel requests by status",
      labelNames: ["status"],
      registers: [metrics],
      collect() {
        this.reset();
        for (const { status, answers } of counts.values()) this.inc({ status }, answers);
      },
    });
  }
  return (status) => {
    const counted = counts.get(status);
    if (counted === undefined) counts.set(status, { status, answers: 1 });
    else counted.answers++;
  };
}

/** Shows how many clients are connected; a process takes `HTTP_CONNECTIONS_MAX`. */
export function showConnections(metrics: Metrics, connections: () => number): void {
  new Gauge({
    name: "pixelmill_pixel_connections",
    help: "Open connections of the data plane",
    registers: [metrics],
    collect() {
      this.set(connections());
    },
  });
}
