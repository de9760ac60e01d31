import { Counter } from "prom-client";
import type { Metrics } from "../observe/metrics.ts";

/** Returns a function that counts a request to the transformer listener by its status. */
export function createRequestCounter(
  metrics: Metrics | undefined,
): (kind: "transform" | "other", status: number) => void {
  if (metrics === undefined) return () => {};
  const counter = new Counter({
    name: "pixelmill_transformer_requests_total",
    help: "Requests of rudder-server and rudder-transformer by kind and status",
    labelNames: ["kind", "status"],
    registers: [metrics],
  });
  return (kind, status) => counter.inc({ kind, status });
}
