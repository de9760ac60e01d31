import { existsSync } from "node:fs";
import { freemem, totalmem } from "node:os";
import { AggregatorRegistry } from "prom-client";
import type { ProgramSuspension, Readiness, SystemFigures } from "./api/deps.ts";
import type { Backend } from "./backend/backend.ts";
import { holdFile } from "./first-start/data-directory.ts";
import type { Ingest } from "./ingest/supervisor/supervisor.ts";
import type { Metrics } from "./observe/metrics.ts";
import type { Pipeline } from "./pipeline/pipeline.ts";
import { transformationVersionOf } from "./publishing/guest-program.ts";
import type { GuestSandbox } from "./sandbox/guest-sandbox.ts";
import type { Config } from "./settings/reader.ts";
import { version } from "./version.ts";

export const DELIVERIES_HELD =
  "Deliveries are held until `pixelmill release` is called for this data directory";
export const SANDBOX_INSECURE = "User code may run although it is not confined (sandbox.insecure)";

interface HealthParts {
  config: Config;
  ground: Pick<Backend, "catalog" | "logs" | "checks" | "warnings">;
  ingest: Pick<Ingest, "healthy">;
  sandbox: Pick<GuestSandbox, "status">;
  pipeline: Pick<Pipeline, "trouble">;
}

/** What `/ready` answers: whether each part can do its work, and what an operator should know. */
export function readiness({ config, ground, ingest, sandbox, pipeline }: HealthParts): Readiness {
  const { state, reason, insecure } = sandbox.status();
  const check = (trouble: string | undefined) =>
    trouble === undefined ? { ok: true } : { ok: false, message: trouble };
  const ingestTrouble = "A process that takes pixels is down or cannot write its log";
  const checks = {
    ingest: check(ingest.healthy() ? undefined : ingestTrouble),
    sandbox: check(state === "ready" ? undefined : (reason ?? "Not started yet")),
    catalog: check(ground.catalog.trouble()),
    delivery: check(pipeline.trouble()),
    ...ground.checks(),
  };
  return {
    ready: Object.values(checks).every(({ ok }) => ok),
    checks,
    warnings: [
      ...(insecure ? [SANDBOX_INSECURE] : []),
      ...(existsSync(holdFile(config)) ? [DELIVERIES_HELD] : []),
      ...ground.logs.warnings(),
      ...ground.warnings(),
    ],
  };
}

/** Figures of the whole server, read from the metrics of its processes. */
export async function systemFigures(
  metrics: Metrics,
  ingest: Pick<Ingest, "metrics">,
): Promise<SystemFigures> {
  const all = [await metrics.getMetricsAsJSON(), ...(await ingest.metrics())] as Measured[][];
  const [server = []] = all;
  const disk = valuesOf(server, "pixelmill_disk_used_bytes");
  const oldestSeconds = figureOf(server, "pixelmill_events_oldest_timestamp_seconds");
  return {
    version,
    bun: Bun.version,
    uptimeSeconds: Math.round(process.uptime()),
    processes: all.map((measured) => ({
      name: valuesOf(measured, "process_resident_memory_bytes")[0]?.labels.process ?? "",
      residentBytes: figureOf(measured, "process_resident_memory_bytes"),
      cpuSeconds: figureOf(measured, "process_cpu_seconds_total"),
    })),
    guests: {
      alive: figureOf(server, "pixelmill_guests"),
      awaited: figureOf(server, "pixelmill_guests_awaited"),
      suspended: figureOf(server, "pixelmill_programs_suspended"),
    },
    memory: { totalBytes: totalmem(), freeBytes: freemem() },
    disk: {
      used: Object.fromEntries(disk.map(({ labels, value }) => [labels.part ?? "", value])),
      freeBytes: figureOf(server, "pixelmill_disk_free_bytes"),
    },
    events: {
      bytes: figureOf(server, "pixelmill_events_kept_bytes"),
      oldestAt: oldestSeconds > 0 ? oldestSeconds * 1_000 : undefined,
      retention: {
        seconds: figureOf(server, "pixelmill_events_retention_seconds"),
        bytes: figureOf(server, "pixelmill_events_retention_bytes"),
      },
    },
  };
}

/** A metric as `getMetricsAsJSON` has it. */
interface Measured {
  name: string;
  values: { value: number; labels: Record<string, string> }[];
}

function valuesOf(measured: readonly Measured[], name: string): Measured["values"] {
  return measured.find((it) => it.name === name)?.values ?? [];
}

function figureOf(measured: readonly Measured[], name: string): number {
  return valuesOf(measured, name)[0]?.value ?? 0;
}

/** The metrics of the server and of each ingest process, told apart by the label `process`. */
export async function metricsText(metrics: Metrics, ingest: Pick<Ingest, "metrics">) {
  const all = [await metrics.getMetricsAsJSON(), ...(await ingest.metrics())];
  return await AggregatorRegistry.aggregate(all).metrics();
}

/** The suspended programs of a workspace, by the revision of their transformation. */
export function programSuspensions(
  sandbox: Pick<GuestSandbox, "suspended">,
  workspaceId: string,
): ProgramSuspension[] {
  return sandbox
    .suspended()
    .filter((suspension) => suspension.workspaceId === workspaceId)
    .map(({ programId, name, until, reason }) => ({
      transformationVersionId: transformationVersionOf(programId),
      ...{ name, until, reason },
    }));
}
