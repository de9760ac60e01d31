import { TimeSlicer } from "../../concurrency/time-slicer.ts";
import { recentResult } from "../../observe/recent-result.ts";
import type { LaneGauges } from "./lane-gauges.ts";
import type { TenantLabels } from "./tenant-labels.ts";

/**
 * Current state of all lanes (deliveries to destinations) that have the same metric labels. Lags
 * are combined, `lagEvents` as a sum and `lagSeconds` as the maximum.
 */
export interface LaneTotal {
  /**
   * Labels of the lanes' metrics. `letterLabels` has the labels of the metrics about their dead
   * letters.
   */
  labels: Record<string, string>;
  letterLabels: Record<string, string>;
  lagEvents: number;
  lagSeconds: number;
  isWaitingForSandbox: boolean;
}

/**
 * Creates a function that combines the state of all lanes with equal metric labels. Because there
 * may be thousands of lanes, the function lets other work run in between, and concurrent calls
 * share one result.
 */
export function createLaneTotals(
  lanes: () => Iterable<LaneGauges>,
  tenants: TenantLabels,
): () => Promise<readonly LaneTotal[]> {
  const slicer = new TimeSlicer();
  return recentResult(0, async () => {
    const totals = new Map<string, LaneTotal>();
    const add = (lane: LaneGauges) => {
      const labels = tenants.shown({ ...lane.labels });
      const key = labels.destination ?? `kind ${lane.labels.kind}`;
      const before = totals.get(key);
      totals.set(key, {
        labels,
        letterLabels:
          labels.destination === undefined
            ? {}
            : { workspace: lane.workspace, destination: labels.destination },
        lagEvents: (before?.lagEvents ?? 0) + lane.lagEvents(),
        lagSeconds: Math.max(before?.lagSeconds ?? 0, lane.lagSeconds()),
        isWaitingForSandbox: before?.isWaitingForSandbox || lane.isWaitingForSandbox(),
      });
    };
    await slicer.each([...lanes()], add);
    return [...totals.values()];
  });
}
