import { Gauge } from "prom-client";
import type { Metrics } from "../observe/metrics.ts";

/**
 * Registers three gauges: the number of partitions whose events this node delivers, the number of
 * warnings about Kafka topics, and the error of this node's clock.
 */
export function registerClusterMetrics(
  metrics: Metrics,
  of: { partitions(): number; troubles(): number; clockErrorMs(): number | undefined },
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
    "Brokers that do not answer or contradict others, and topics that lack settings, leaders or copies",
    of.troubles,
  );
  show(
    "pixelmill_cluster_clock_error_seconds",
    "Seconds by which this node's clock is ahead of the brokers', at least; negative when behind",
    () => (of.clockErrorMs() ?? 0) / 1_000,
  );
}
