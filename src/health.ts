import { AggregatorRegistry } from "prom-client";
import type { Readiness, RevisionSuspension, SystemFigures } from "./api/deps.ts";
import { type Backend, type Check, checkOf } from "./backend/backend.ts";
import type { Certificate } from "./backend/reloadable/certificates.ts";
import type { ProcessMetrics } from "./ingest/messages.ts";
import type { Ingest } from "./ingest/supervisor/supervisor.ts";
import { CONSEQUENCE, joinConsequences } from "./observe/consequence.ts";
import type { DiskUsage } from "./observe/disk.ts";
import { usableMemory } from "./observe/memory.ts";
import type { Metrics } from "./observe/metrics.ts";
import { credentialMask } from "./pipeline/monitoring/credential-mask.ts";
import type { Pipeline } from "./pipeline/pipeline.ts";
import type { RetentionBounds } from "./pipeline/retention/retention.ts";
import { transformationVersionOf } from "./publishing/guest-program.ts";
import type { GuestSandbox } from "./sandbox/guest-sandbox.ts";
import { version } from "./version.ts";

export const DELIVERIES_HELD =
  "Deliveries are held until `pixelmill release` is called for this data directory";
export const NO_WORKSPACE = "The first workspace and its token are not stored yet";
export const SANDBOX_INSECURE = "User code may run although it is not confined (sandbox.insecure)";

interface ReadinessSources {
  /** Whether deliveries are on hold. */
  isOnHold(): boolean;
  backend: Pick<Backend, "catalog" | "logs" | "checks" | "warnings">;
  ingest: Pick<Ingest, "health">;
  sandbox: Pick<GuestSandbox, "status">;
  pipeline: Pick<Pipeline, "warnings">;
  /** Reports warnings about the scheduled backups; undefined when none are scheduled. */
  backups: { warnings(): string[] } | undefined;
  certificates: Record<string, Pick<Certificate, "warnings">>;
  /**
   * Why the server is not ready yet: a sentence that names data it must store before it serves
   * requests. The value is undefined once this data is stored.
   */
  starting: string | undefined;
}

/**
 * Builds the response of `/ready`: the result of the check of each part of the server, and warnings
 * for the operator.
 */
export function readiness(sources: ReadinessSources): Readiness {
  const { backend, sandbox, certificates } = sources;
  const { state, reason, insecure } = sandbox.status();
  const ingest = sources.ingest.health();
  const checks = {
    ingest: checkOf(ingest.trouble),
    sandbox: checkOf(state === "ready" ? undefined : (reason ?? "Not started yet")),
    catalog: checkOf(backend.catalog.trouble() ?? sources.starting),
    ...backend.checks(),
  };
  const warnings = [
    ...(insecure ? [SANDBOX_INSECURE] : []),
    ...(sources.isOnHold() ? [DELIVERIES_HELD] : []),
    ...ingest.warnings,
    ...backend.logs.warnings(),
    ...backend.warnings(),
    ...sources.pipeline.warnings(),
    ...(sources.backups?.warnings() ?? []),
    ...Object.values(certificates).flatMap((certificate) => certificate.warnings()),
  ];
  return { ready: Object.values(checks).every(({ ok }) => ok), ...mergeByCause(checks, warnings) };
}

/**
 * Merges messages with the same cause. A message is a cause followed by its consequences. If a
 * failed check has the same cause as a warning, the warning's consequences move to the check's
 * message.
 */
function mergeByCause(
  checks: Record<string, Check>,
  warnings: readonly string[],
): Pick<Readiness, "checks" | "warnings"> {
  const rest = Map.groupBy(warnings, (warning) => warning.split(CONSEQUENCE)[0]);
  const merged = Object.entries(checks).map(([name, check]): [string, Check] => {
    if (check.ok || check.message === undefined) return [name, check];
    const cause = check.message.split(CONSEQUENCE)[0]!;
    const sentences = [check.message, ...(rest.get(cause) ?? [])];
    rest.delete(cause);
    return [name, checkOf(joinConsequences(cause, sentences))];
  });
  return { checks: Object.fromEntries(merged), warnings: [...rest.values()].flat() };
}

interface FigureSources {
  ingest: Pick<Ingest, "metrics">;
  sandbox: Pick<GuestSandbox, "guestCounts">;
  pipeline: Pick<Pipeline, "keptEvents">;
  disk: DiskUsage;
  retention: RetentionBounds;
}

/**
 * Collects figures of the running server, such as its CPU time, memory, disk space and stored
 * events.
 */
export async function systemFigures(sources: FigureSources): Promise<SystemFigures> {
  const { ingest, sandbox, pipeline, disk, retention } = sources;
  const { user, system } = process.cpuUsage();
  const server = {
    name: "server",
    residentBytes: process.memoryUsage.rss(),
    cpuSeconds: (user + system) / 1e6,
  };
  return {
    version,
    bun: Bun.version,
    uptimeSeconds: Math.round(process.uptime()),
    processes: [server, ...(await ingest.metrics()).map(processFigures)],
    guests: sandbox.guestCounts(),
    memory: usableMemory(),
    disk: { used: disk.usedBytes(), freeBytes: disk.freeBytes() },
    events: {
      ...(await pipeline.keptEvents()),
      retention: { seconds: retention.ageMsMax / 1_000, bytes: retention.bytesMax },
    },
  };
}

/** Returns the figures of one ingest process, read from its metrics. */
function processFigures(metrics: ProcessMetrics): SystemFigures["processes"][number] {
  const valueNamed = (name: string) => metrics.find((it) => it.name === name)?.values[0];
  const resident = valueNamed("process_resident_memory_bytes");
  return {
    name: String(resident?.labels.process ?? ""),
    residentBytes: resident?.value ?? 0,
    cpuSeconds: valueNamed("process_cpu_seconds_total")?.value ?? 0,
  };
}

/**
 * Returns the metrics of the server and of each ingest process in the Prometheus text format. The
 * label `process` names the process.
 */
export async function metricsText(metrics: Metrics, ingest: Pick<Ingest, "metrics">) {
  const all = [await metrics.getMetricsAsJSON(), ...(await ingest.metrics())];
  return await AggregatorRegistry.aggregate(all).metrics();
}

/**
 * Returns a workspace's slow transformation revisions: those that run, but none of whose events has
 * succeeded for `CODE_SLOW_MS`. Maps a revision's id to the start of this time, in milliseconds
 * since the epoch.
 */
export function slowRevisions(sandbox: Pick<GuestSandbox, "slow">, workspaceId: string) {
  const slow = sandbox.slow().filter((it) => it.workspaceId === workspaceId);
  return new Map(slow.map(({ programId, since }) => [transformationVersionOf(programId), since]));
}

/**
 * Lists the suspended programs of a workspace. A program is one revision of a transformation with
 * its libraries; it is suspended when all its runs fail.
 */
export function programSuspensions(
  sandbox: Pick<GuestSandbox, "suspended">,
  workspaceId: string,
): RevisionSuspension[] {
  return sandbox
    .suspended()
    .filter((suspension) => suspension.workspaceId === workspaceId)
    .map(({ programId, name, until, reason, credentials }) => ({
      transformationVersionId: transformationVersionOf(programId),
      name,
      until,
      reason: credentialMask(credentials).error(reason),
    }));
}
