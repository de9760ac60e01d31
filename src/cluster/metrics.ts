import { Gauge } from "prom-client";
import type { Metrics } from "../observe/metrics.ts";

/**
 * Registers two gauges: the number of partitions whose events this node delivers, and the number of
 * warnings about Kafka topics.
 */
export function registerClusterMetrics(
  metrics: Metrics,
  of: { partitions(): number; troubles(): number },
): void {
  const show = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [metrics],
      collect() {
        this.set(value());
      },
    });
  show("pixelmill_cluster_partitions", "Partitions whose lanes run at this node", of.partitions);
  show(
    "pixelmill_cluster_troubles",
    "Brokers that do not answer, and topics whose partitions lack leaders or copies",
    of.troubles,
  );
}
