import { Gauge } from "prom-client";
import type { Metrics } from "../observe/metrics.ts";

/**
 * Registers gauges of this node: the number of partitions that run, the number of assigned
 * partitions that do not run, the number of troubles with brokers and topics, and the error of its
 * clock.
 */
export function registerClusterMetrics(
  metrics: Metrics,
  of: {
    partitions(): number;
    stopped(): number;
    troubles(): number;
    clockErrorMs(): number | undefined;
  },
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
    "pixelmill_cluster_partitions_stopped",
    "Partitions that are assigned to this node and have not run for 5 seconds",
    of.stopped,
  );
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
