import { Counter } from "prom-client";
import type { Metrics } from "./metrics.ts";

/** Returns the counter of TLS handshakes that clients did not complete, by plane. */
export function createFailedHandshakes(metrics: Metrics): Counter<"plane"> {
  const known = metrics.getSingleMetric("pixelmill_tls_failed_handshakes_total");
  if (known !== undefined) return known as Counter<"plane">;
  return new Counter({
    name: "pixelmill_tls_failed_handshakes_total",
    help: "TLS handshakes that clients did not complete, by plane: data, control or transformer",
    labelNames: ["plane"],
    registers: [metrics],
  });
}
