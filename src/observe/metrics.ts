import { collectDefaultMetrics, Registry } from "prom-client";

/** The server's metrics. Each part defines its own in this registry; names end in their unit. */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
export type Metrics = Registry;
