import type { Registry } from "prom-client";
import { KeyedMutex } from "../concurrency/keyed-mutex.ts";
import { noLogs } from "./batch/batch-logs.ts";
import { BatchRun } from "./batch/batch-run.ts";
import { CostlyPrograms } from "./batch/costly-programs.ts";
import { batchBytes } from "./batch/frame-events.ts";
import { ProgramSuspensions } from "./batch/program-suspension.ts";
import { runBatch } from "./batch/run-batch.ts";
import { createCodeChecks } from "./code-checks.ts";
import { GUEST_MEMORY_POLL_MS } from "./guest-limits.ts";
import type { HostFunctions } from "./host-calls/host-functions.ts";
import { defaultLimits, type SandboxLimits } from "./limits.ts";
import { createSandboxMetrics } from "./metrics.ts";
import { culpritCauses, isBreach } from "./process/guest-end.ts";
import type { LogSink, Program, ProgramBatch, ProgramOutcome } from "./program.ts";
import { GuestPool } from "./scheduling/guest-pool.ts";
import { GuestStarter, type GuestStarterOptions } from "./scheduling/guest-starter.ts";

/**
 * Total bytes of the outputs of a batch above which the batch ends early. The caller of the sandbox
 * then runs the events without an outcome in a new batch. Test runs have another limit.
 */
export const GUEST_BATCH_OUTPUT_BYTES_MAX = 2 << 20;

export interface SandboxOptions
  extends HostFunctions,
    Pick<GuestStarterOptions, "guestCommand" | "insecure" | "log"> {
  metrics?: Registry;
  limits?: Partial<SandboxLimits>;
}

/** Runs user code on events, in child processes that are isolated from the system. */
export type GuestSandbox = ReturnType<typeof createSandbox>;
/**
 * The functions of a sandbox that run or check user code, without the functions that report the
 * sandbox's state.
 */
export type Sandbox = Omit<GuestSandbox, "status" | "suspended" | "slow" | "guestCounts">;

/**
 * Creates a sandbox that runs user code in isolated child processes (guests). It starts a first
 * guest immediately, before one is needed.
 */
export function createSandbox(options: SandboxOptions) {
  const limits = { ...defaultLimits, ...options.limits };
  const metrics = createSandboxMetrics(options.metrics);
  const starter = new GuestStarter({
    ...options,
    ...limits,
    metrics,
    watchMs: GUEST_MEMORY_POLL_MS,
  });
  const liveOptions = { limits, hostFunctions: options, bytesMax: GUEST_BATCH_OUTPUT_BYTES_MAX };
  const suspensions = new ProgramSuspensions(metrics, options.log);
  const costly = new CostlyPrograms();
  const costlyTurns = new KeyedMutex();
  const pool = new GuestPool(starter, limits);
  // Prometheus sees a count grow only from a value that it has read before.
  for (const cause of culpritCauses) metrics.culprits.inc({ cause }, 0);
  metrics.countWaiting(() => pool.waitingCount);
  metrics.countBackingOff(() => pool.backingOffCount);

  return {
    ...createCodeChecks(pool, limits, options),
    run,
    /** State of the sandbox, as `/ready` reports it: whether user code can run, and if not, why. */
    status: () => starter.status(),
    /**
     * Programs that are suspended: they are not run for a while, because all events of their last
     * batches failed.
     */
    suspended: () => suspensions.list(),
    /** Running programs none of whose events has succeeded for `CODE_SLOW_MS`. */
    slow: () => suspensions.slow(),
    /** Counts of running guest processes, and of workspaces (tenants) that wait for a process. */
    guestCounts: () => ({ alive: starter.aliveCount, awaited: pool.waitingCount }),
    async close() {
      pool.close();
      await starter.close();
    },
  };

  /**
   * Runs a published program. Resolves with one outcome per event, in input order; if the outputs
   * would need too much memory, only with the first outcomes (at least one), and the caller must
   * run the other events again. Rejects with `SandboxUnavailable` when no guest process can be
   * started.
   */
  async function run(
    program: Program,
    batch: ProgramBatch,
    logSink: LogSink = noLogs,
  ): Promise<ProgramOutcome[]> {
    const suspended = suspensions.errorFor(program);
    if (suspended) return counted(batch.events.map(() => ({ error: suspended })));
    using trial = suspensions.beginTrial(program);
    const endTimer = metrics.runSeconds.startTimer();
    const culpritsMax = costly.culpritsLeft(program);
    const run = new BatchRun(program, batch, {
      ...liveOptions,
      culpritsMax,
      logs: logSink,
      trial,
    });
    const bytes = batchBytes(batch);
    // A batch that has cost the first guest continues in the second one, so that it no longer
    // delays other programs of the workspace.
    const isCostly = () => run.hasCostGuest || costly.has(program);
    if (!isCostly()) await pool.use(program, bytes, (source) => runBatch(source, run, isCostly));
    // Costly batches of a program run one after another. Run in parallel, each could take minutes
    // of a busy machine to find the same culprits.
    const runCostly = async () => {
      while (!run.isDone) {
        await pool.useSecond(program, bytes, (source) =>
          runBatch(source, run, () => source.isLeaving),
        );
      }
    };
    if (!run.isDone) await costlyTurns.run(program.id, runCostly);
    const { outcomes, logs, culprits, cpuMs, isDoubtful } = run.finish();
    if (logs.length > 0) logSink.take(logs);
    endTimer();
    for (const cause of culprits) metrics.culprits.inc({ cause });
    costly.record(program, culprits.length, cpuMs);
    const hasBreached = culprits.some(isBreach);
    // Events that were not run say nothing about the program.
    if (batch.isAwaited?.() === false && !hasBreached) return outcomes;
    suspensions.record(program, outcomes, { hasBreached, isDoubtful });
    return counted(outcomes);
  }

  /** Counts the outcomes of events in the metrics, and returns these outcomes. */
  function counted(outcomes: ProgramOutcome[]): ProgramOutcome[] {
    const counts = { failed: 0, dropped: 0, transformed: 0 };
    for (const outcome of outcomes) counts[nameOf(outcome)] += 1;
    for (const [outcome, count] of Object.entries(counts)) {
      if (count > 0) metrics.events.inc({ outcome }, count);
    }
    return outcomes;
  }
}

function nameOf(outcome: ProgramOutcome): "failed" | "dropped" | "transformed" {
  if ("error" in outcome) return "failed";
  return outcome.events.length === 0 ? "dropped" : "transformed";
}
