import { Counter } from "prom-client";
import type { Metrics } from "./metrics.ts";

/** Creates the counter of TLS handshakes that clients did not complete, by plane. */
export function createFailedHandshakes(metrics: Metrics): Counter<"plane"> {
  return new Counter({
    name: "pixelmill_tls_failed_handshakes_total",
    help: "TLS handshakes that clients did not complete, by plane: data or control",
    labelNames: ["plane"],
    registers: [metrics],
  });
}
