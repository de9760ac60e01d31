import { Counter, Gauge, Histogram } from "prom-client";
import type { LiveProgram } from "../../catalog/live.ts";
import { TimeSlicer } from "../../concurrency/time-slicer.ts";
import type { DeliveryResult } from "../../destinations/destination.ts";
import { MinuteCounters } from "../../figures/minute-counters.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { recentResult } from "../../observe/recent-result.ts";
import type { ProgramOutcome } from "../../sandbox/program.ts";
import { FIGURE_COUNTERS_MAX } from "../../settings/limits.ts";
import type { EventOutcome } from "../model/lane-event.ts";
import type { LaneGauges, LaneLabels } from "./lane-gauges.ts";
import { LaneHistories } from "./lane-history.ts";
import { TenantLabels } from "./tenant-labels.ts";
import { createTransformationMetrics, recordRunFigures } from "./transformation-metrics.ts";

const labels = ["destination", "name", "kind"] as const;
const outcomes: EventOutcome["kind"][] = ["delivered", "dropped", "discarded", "dead-letter"];
const verdicts: DeliveryResult["kind"][] = ["delivered", "rejected", "retry"];
// Seconds, from a local receiver to the longest timeout. These histograms are not by destination:
// with a thousand destinations a scrape would have 25,000 lines.
const buckets = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

/**
 * Functions that return the current values of gauges. They are called at each scrape of the
 * metrics.
 */
interface GaugeSources {
  lanes(): Iterable<LaneGauges>;
  deadLetters(): Iterable<{ workspaceId: string; destinationId: string; count: number }>;
  heldBytes(): number;
  /**
   * Returns the names of the logs in which a delivery waits at a record that only a newer version
   * of pixelmill can read.
   */
  heldLogs(): Iterable<string>;
}

/**
 * Combined state of the lanes whose metrics have equal labels: those of one destination, or all
 * lanes of one kind whose destinations have no labels of their own. `lagEvents` is the sum of the
 * lanes' values, `lagSeconds` their maximum.
 */
interface LaneTotal {
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
 * Creates a function that combines the states of lanes with equal metric labels, and resolves with
 * one `LaneTotal` for each label set. The function pauses for other work. Concurrent calls get the
 * same result.
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

function createGauges(
  registry: Metrics,
  { lanes, deadLetters, heldBytes, heldLogs }: GaugeSources,
  tenants: TenantLabels,
): void {
  const registers = [registry];
  const totals = createLaneTotals(lanes, tenants);
  const gauge = (name: string, help: string, read: (total: LaneTotal) => number) =>
    new Gauge({
      name,
      help,
      labelNames: labels,
      registers,
      async collect() {
        const all = await totals();
        this.reset();
        for (const total of all) this.set({ ...total.labels }, read(total));
      },
    });
  gauge("pixelmill_lane_lag_events", "Records that a lane has not settled", (l) => l.lagEvents);
  gauge(
    "pixelmill_lane_lag_seconds",
    "Age of the oldest event that a lane has not settled",
    (l) => l.lagSeconds,
  );
  new Gauge({
    name: "pixelmill_oldest_undelivered_seconds",
    help: "Age of the oldest event that any lane has not settled",
    registers,
    async collect() {
      const all = await totals();
      this.set(all.reduce((oldest, { lagSeconds }) => Math.max(oldest, lagSeconds), 0));
    },
  });
  gauge("pixelmill_lane_sandbox_waiting", "1 while a lane waits for a guest", (l) =>
    l.isWaitingForSandbox ? 1 : 0,
  );
  new Gauge({
    name: "pixelmill_lanes_held_bytes",
    help: "Events that lanes hold in memory, and what code made of them",
    registers,
    collect() {
      this.set(heldBytes());
    },
  });
  new Gauge({
    name: "pixelmill_log_newer_version",
    help: "1 for each log in which deliveries wait at an event that a newer version stored",
    labelNames: ["log"] as const,
    registers,
    collect() {
      this.reset();
      for (const log of heldLogs()) this.set({ log }, 1);
    },
  });
  new Gauge({
    name: "pixelmill_dead_letters",
    help: "Dead letters kept, per destination",
    labelNames: ["workspace", "destination"] as const,
    registers,
    async collect() {
      const all = await totals();
      this.reset();
      if (!tenants.areShown) this.set({}, 0);
      for (const { letterLabels } of all) this.set({ ...letterLabels }, 0);
      for (const { workspaceId: workspace, destinationId: destination, count } of deadLetters()) {
        if (count > 0) this.inc(tenants.shown({ workspace, destination }), count);
      }
    },
  });
}

function createCounters(registry: Metrics, tenants: TenantLabels) {
  const registers = [registry];
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: ["kind"] as const, buckets, registers });
  return {
    events: tenants.counter(
      new Counter({
        name: "pixelmill_lane_events_total",
        help: "Events that left a lane, by outcome; outputs of user code count each",
        labelNames: [...labels, "outcome"] as const,
        registers,
      }),
    ),
    replayed: tenants.counter(
      new Counter({
        name: "pixelmill_replayed_events_total",
        help: "Events of the log that a replay sent again, by what became of them",
        labelNames: ["workspace", "outcome"] as const,
        registers,
      }),
    ),
    attempts: tenants.counter(
      new Counter({
        name: "pixelmill_delivery_attempts_total",
        help: "Deliveries tried, by verdict",
        labelNames: [...labels, "verdict"] as const,
        registers,
      }),
    ),
    deliverySeconds: histogram(
      "pixelmill_delivery_seconds",
      "Time of one delivery attempt, by the destination's kind",
    ),
    transformSeconds: histogram(
      "pixelmill_transform_seconds",
      "Time of one batch in the sandbox, by the destination's kind",
    ),
    deadLettersDropped: tenants.counter(
      new Counter({
        name: "pixelmill_dead_letters_dropped_total",
        help: "Dead letters that were dropped because of their number or their age, per workspace",
        labelNames: ["workspace", "bound"] as const,
        registers,
      }),
    ),
    repeated: tenants.counter(
      new Counter({
        name: "pixelmill_repeated_events_total",
        help: "Events that sources with `dedupSeconds` have sent again, and that are not delivered again",
        labelNames: ["workspace"] as const,
        registers,
      }),
    ),
    unreadable: new Counter({
      name: "pixelmill_log_unreadable_records_total",
      help: "Records of the event log that no event could be built of, per log",
      labelNames: ["log"] as const,
      registers,
    }),
  };
}

/** Registers the metrics of all lanes, which deliver the destinations' events. */
export function createLaneMetrics(
  registry: Metrics,
  sources: GaugeSources,
  tenants = new TenantLabels(true),
) {
  createGauges(registry, sources, tenants);
  const metrics = createCounters(registry, tenants);
  const runs = new MinuteCounters(FIGURE_COUNTERS_MAX);
  const code = createTransformationMetrics(registry, tenants);
  const histories = new LaneHistories();

  /** Deletes the time series of one destination, so that later scrapes do not show it. */
  function forget(lane: LaneLabels): void {
    for (const outcome of outcomes) metrics.events.remove({ ...lane, outcome });
    for (const verdict of verdicts) metrics.attempts.remove({ ...lane, verdict });
  }

  return {
    ...metrics,
    histories,
    /** Transformation id → counts of the events over which the transformation's code has run. */
    runs,
    /** Records one batch of events over which the destination's published code has run. */
    recordRun(
      lane: LaneLabels,
      live: LiveProgram,
      made: readonly ProgramOutcome[],
      seconds: number,
    ): void {
      metrics.transformSeconds.observe({ kind: lane.kind }, seconds);
      const counts = code.recordRun(live, made, seconds);
      recordRunFigures(runs, live.transformation.id, counts, seconds);
    },
    renameLane(lane: LaneLabels, name: string): void {
      if (name === lane.name) return;
      forget(lane);
      lane.name = name;
    },
    /** Deletes the metrics of the delivery to one destination. */
    removeLane(lane: LaneLabels): void {
      forget(lane);
      tenants.forget(lane.destination);
    },
  };
}

export type LaneMetrics = ReturnType<typeof createLaneMetrics>;
