import { Counter } from "prom-client";
import type { Metrics } from "./metrics.ts";

export type FailedHandshakes = Counter<"plane">;

/**
 * Registers the counter of failed TLS handshakes. Its label `plane` names the port of the
 * handshake: that of the data plane, of the control plane or of the transformer.
 */
export function createFailedHandshakes(metrics: Metrics): FailedHandshakes {
  return new Counter({
    name: "pixelmill_tls_failed_handshakes_total",
    help: "TLS handshakes that clients did not complete, by plane: data, control or transformer",
    labelNames: ["plane"],
    registers: [metrics],
  });
}
