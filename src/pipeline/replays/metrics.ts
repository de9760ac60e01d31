import { Gauge } from "prom-client";
import type { Metrics } from "../../observe/metrics.ts";
import type { ReplayJob } from "../model/replay-job.ts";

const kinds: ReplayJob["kind"][] = ["events", "dead-letters", "purge"];

/** Registers the metric that counts running replays in all workspaces. */
export function registerReplayMetrics(
  registry: Metrics,
  running: () => readonly ReplayJob[],
): void {
  new Gauge({
    name: "pixelmill_replays_running",
    help: "Replays that run, by what they send again; a purge deletes dead letters",
    labelNames: ["kind"] as const,
    registers: [registry],
    collect() {
      const ids = new Map(running().map(({ id, kind }) => [id, kind]));
      for (const kind of kinds)
        this.set({ kind }, [...ids.values()].filter((it) => it === kind).length);
    },
  });
}
