import { Counter } from "prom-client";
import type { LiveProgram } from "../../catalog/live.ts";
import type { MinuteCounters } from "../../figures/minute-counters.ts";
import { DELIVERED, DROPPED, FAILED, latencyCounter, RECEIVED } from "../../figures/row.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { ProgramOutcome } from "../../sandbox/program.ts";
import type { TenantLabels } from "./tenant-labels.ts";

/**
 * Maximum number of transformations with metrics. If one more runs, the metrics of the
 * transformation that ran longest ago are deleted.
 */
const TRANSFORMATIONS_MAX = 2_000;

const outcomes = ["passed", "dropped", "failed"] as const;
const labelNames = ["workspace", "transformation", "version"] as const;
type Labels = Record<(typeof labelNames)[number], string>;

/**
 * Registers metrics of published transformations, labelled by transformation and revision. When a
 * newly published revision first runs, the metrics of the previous one are deleted.
 */
export function createTransformationMetrics(registry: Metrics, tenants: TenantLabels) {
  const registers = [registry];
  const events = tenants.counter(
    new Counter({
      name: "pixelmill_transformation_events_total",
      help: "Events that a live revision has seen: passed (changed or not), dropped, failed",
      labelNames: [...labelNames, "outcome"] as const,
      registers,
    }),
  );
  const seconds = tenants.counter(
    new Counter({
      name: "pixelmill_transformation_seconds_total",
      help: "Time that batches of a live revision took in the sandbox",
      labelNames,
      registers,
    }),
  );
  /**
   * Transformation id → labels of its revision that ran last. The map is ordered by the last run,
   * the oldest first.
   */
  const current = new Map<string, Labels>();

  function forget(labels: Labels): void {
    for (const outcome of outcomes) events.remove({ ...labels, outcome });
    seconds.remove(labels);
  }

  /**
   * Returns the labels for the metrics of a revision, and deletes the metrics of the
   * transformation's previous revision. Above `TRANSFORMATIONS_MAX` transformations, deletes the
   * metrics of the one that ran longest ago.
   */
  function show({ workspaceId, transformation }: LiveProgram): Labels {
    const { id, versionId } = transformation;
    const known = current.get(id);
    current.delete(id);
    if (known !== undefined && known.version !== versionId) forget(known);
    const same = known?.version === versionId ? known : undefined;
    const labels = same ?? { workspace: workspaceId, transformation: id, version: versionId };
    current.set(id, labels);
    if (current.size > TRANSFORMATIONS_MAX) {
      const [oldest, its] = current.entries().next().value!;
      current.delete(oldest);
      forget(its);
    }
    return labels;
  }

  return {
    /**
     * Records one batch of events over which a published revision has run for `runSeconds` seconds.
     * Returns the numbers of events by outcome.
     */
    recordRun(live: LiveProgram, made: readonly ProgramOutcome[], runSeconds: number): RunCounts {
      const labels = show(live);
      const counts = { passed: 0, dropped: 0, failed: 0 };
      for (const outcome of made) counts[nameOf(outcome)] += 1;
      for (const outcome of outcomes) {
        if (counts[outcome] > 0) events.inc({ ...labels, outcome }, counts[outcome]);
      }
      seconds.inc(labels, runSeconds);
      return counts;
    },
  };
}

type RunCounts = Record<(typeof outcomes)[number], number>;

/**
 * Adds the outcomes of one batch to a transformation's figures (statistics). Events for which the
 * code returned an event (`passed`) count as delivered.
 */
export function recordRunFigures(
  runs: MinuteCounters,
  transformationId: string,
  { passed, dropped, failed }: RunCounts,
  seconds: number,
): void {
  const now = Date.now();
  const add = (counter: number, by: number) => {
    if (by > 0) runs.add(transformationId, now, counter, by);
  };
  add(RECEIVED, passed + dropped + failed);
  add(DELIVERED, passed);
  add(DROPPED, dropped);
  add(FAILED, failed);
  add(latencyCounter(1_000 * seconds), 1);
}

function nameOf(outcome: ProgramOutcome): (typeof outcomes)[number] {
  if ("error" in outcome) return "failed";
  return outcome.events.length === 0 ? "dropped" : "passed";
}
