import { collectDefaultMetrics, Registry } from "prom-client";

export type Metrics = Registry;

/**
 * The metrics of one process, labelled with its name. Each part defines its own in this
 * registry; names end in their unit.
 */
export function createMetrics(process = "server"): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  collectDefaultMetrics({ register: registry });
  return registry;
}
