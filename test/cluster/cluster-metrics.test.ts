import { expect, test } from "bun:test";
import { Registry } from "prom-client";
import { registerClusterMetrics } from "../../src/cluster/metrics.ts";

test("a node shows its partitions, its troubles and the error of its clock when they are scraped", async () => {
  const facts = {
    partitions: 3,
    stopped: 2,
    troubles: 1,
    clockErrorMs: undefined as number | undefined,
  };
  const registry = new Registry();
  registerClusterMetrics(registry, {
    partitions: () => facts.partitions,
    stopped: () => facts.stopped,
    troubles: () => facts.troubles,
    clockErrorMs: () => facts.clockErrorMs,
  });
  const shown = async () => {
    const found = (await registry.getMetricsAsJSON()).map(({ name, values }) => {
      return [name.replace("pixelmill_cluster_", ""), values[0]!.value];
    });
    return Object.fromEntries(found);
  };
  const counts = { partitions: 3, partitions_stopped: 2, troubles: 1 };
  expect(await shown()).toEqual({ ...counts, clock_error_seconds: 0 });
  Object.assign(facts, { partitions: 4, clockErrorMs: -2_500 });
  expect(await shown()).toEqual({ ...counts, partitions: 4, clock_error_seconds: -2.5 });
});
