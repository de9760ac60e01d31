import type { Registry } from "prom-client";
import { TEST_OUTPUT_BYTES_MAX } from "../settings/limits.ts";
import { noLogs, testLogs } from "./batch/batch-logs.ts";
import { BatchRun } from "./batch/batch-run.ts";
import { CostlyPrograms } from "./batch/costly-programs.ts";
import { endError, isBreach } from "./batch/end-errors.ts";
import { batchBytes } from "./batch/frame-events.ts";
import { unloadPrograms } from "./batch/load-program.ts";
import { type ProgramSuspension, ProgramSuspensions } from "./batch/program-suspension.ts";
import { runBatch } from "./batch/run-batch.ts";
import { GUEST_ANSWER_BYTES_MAX, GUEST_MEMORY_POLL_MS } from "./guest-limits.ts";
import type { HostFunctions } from "./host-calls/host-functions.ts";
import { defaultLimits, type SandboxLimits } from "./limits.ts";
import { createSandboxMetrics } from "./metrics.ts";
import type { Guest } from "./process/guest.ts";
import { culpritCauses, GuestEndedError } from "./process/guest-end.ts";
import type { GuestSource } from "./process/guest-source.ts";
import type {
  GuestLanguage,
  LibraryCode,
  Program,
  ProgramBatch,
  ProgramOutcome,
  UserError,
} from "./program.ts";
import { parseInspectReply, parseLoadReply } from "./protocol/reply-parser.ts";
import {
  type CheckReport,
  type ImportInspection,
  type Sandbox,
  SandboxUnavailable,
} from "./sandbox.ts";
import { GuestPool } from "./scheduling/guest-pool.ts";
import type { GuestStarterOptions } from "./scheduling/guest-starter.ts";
import { GuestStarter, type SandboxStatus } from "./scheduling/guest-starter.ts";
import { TestBudget } from "./test-budget.ts";

/**
 * Size in bytes of the outputs above which a batch of live (not test) events ends early. Its caller
 * runs the remaining events again.
 */
export const GUEST_BATCH_OUTPUT_BYTES_MAX = 2 << 20;

export interface SandboxOptions
  extends HostFunctions,
    Pick<GuestStarterOptions, "guestCommand" | "insecure" | "log"> {
  metrics?: Registry;
  limits?: Partial<SandboxLimits>;
}

export interface GuestSandbox extends Sandbox {
  /**
   * State of the sandbox, as `/ready` reports it: whether user code runs, and if not, the reason.
   */
  status(): SandboxStatus;
  /**
   * Programs that are suspended: they are not run for a while, because all events of their last
   * batches failed.
   */
  suspended(): ProgramSuspension[];
  /** Number of guest processes, and of workspaces (tenants) that wait for a guest process. */
  guestCounts(): { alive: number; awaited: number };
}

export type { ProgramSuspension, SandboxStatus };

/**
 * Creates a sandbox that runs user code in isolated child processes (guests). Starts a spare guest
 * at once.
 */
export function createSandbox(options: SandboxOptions): GuestSandbox {
  const limits = { ...defaultLimits, ...options.limits };
  const metrics = createSandboxMetrics(options.metrics);
  const starter = new GuestStarter({
    guestCommand: options.guestCommand,
    insecure: options.insecure,
    log: options.log,
    metrics,
    graceMs: limits.graceMs,
    watchMs: GUEST_MEMORY_POLL_MS,
  });
  const liveOptions = { limits, hostFunctions: options, bytesMax: GUEST_BATCH_OUTPUT_BYTES_MAX };
  const { cpuMs, wallMs } = limits;
  const exchangeLimits = { cpuMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX };
  const suspensions = new ProgramSuspensions(metrics, options.log);
  const costly = new CostlyPrograms();
  const pool = new GuestPool(starter, limits);
  // Prometheus sees a count grow only from a value that it has read before.
  for (const cause of culpritCauses) metrics.culprits.inc({ cause }, 0);
  metrics.countWaiting(() => pool.waitingCount);
  metrics.countBackingOff(() => pool.backingOffCount);

  return {
    status: () => starter.status(),
    suspended: () => suspensions.list(),
    guestCounts: () => ({ alive: starter.aliveCount, awaited: pool.waitingCount }),
    run,
    check: async (program, batch, budget) => (await checkAll(program, [batch], budget))[0]!,
    checkAll,
    inspect,
    checkLibrary,
    async close() {
      pool.close();
      await starter.close();
    },
  };

  async function run(
    program: Program,
    batch: ProgramBatch,
    logSink = noLogs,
  ): Promise<ProgramOutcome[]> {
    const suspended = suspensions.errorFor(program);
    if (suspended) return counted(batch.events.map(() => ({ error: suspended })));
    using _trial = suspensions.beginTrial(program);
    const endTimer = metrics.runSeconds.startTimer();
    const culpritsMax = costly.culpritsLeft(program);
    const run = new BatchRun(program, batch, { ...liveOptions, culpritsMax, logs: logSink });
    const { workspaceId, language } = program;
    const bytes = batchBytes(batch);
    // A batch that has cost the first guest goes on in the second one, so that it delays no other
    // program of the workspace any longer.
    const isCostly = () => run.hasCostGuest || costly.has(program);
    if (!isCostly()) {
      await pool.use(workspaceId, language, bytes, (source) => runBatch(source, run, isCostly));
    }
    while (!run.isDone) {
      await pool.useSecond(workspaceId, language, bytes, (source) =>
        runBatch(source, run, () => source.isLeaving),
      );
    }
    const { outcomes, logs, culprits, cpuMs } = run.finish();
    if (logs.length > 0) logSink.take(logs);
    endTimer();
    for (const cause of culprits) metrics.culprits.inc({ cause });
    costly.record(program, culprits.length, cpuMs);
    const isBroken = culprits.some(isBreach);
    // Events that were not run say nothing about the program.
    if (batch.isAwaited?.() === false && !isBroken) return outcomes;
    suspensions.record(program, outcomes, { cpuMs, isBroken });
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

  async function checkAll(
    program: Program,
    batches: readonly ProgramBatch[],
    budget = new TestBudget(),
  ): Promise<CheckReport[]> {
    const { workspaceId, language } = program;
    const reports: CheckReport[] = [];
    const work = async (source: GuestSource) => {
      for (const batch of batches) {
        const last = reports.at(-1);
        if (last && !last.error && !budget.error) unloadPrograms(await source.guest());
        // A program that does not load would not load for the next batch either.
        reports.push(last?.error ? last : await checkIn(source, program, batch, budget));
      }
      return reports;
    };
    const run = () => pool.useThrowAway(workspaceId, language, budget, work);
    return failIfSpent(budget, run, (error) => {
      const rest = batches.slice(reports.length);
      return [...reports, ...rest.map((batch) => refusal(batch, error))];
    });
  }

  /** Runs a program on one batch of test events in the guest that the source provides. */
  async function checkIn(
    source: GuestSource,
    program: Program,
    batch: ProgramBatch,
    budget: TestBudget,
  ): Promise<CheckReport> {
    const bytesMax = budget.outputBytesLeft;
    if (bytesMax === 0) return refusal(batch, tooMuchOutput);
    const run = new BatchRun(program, batch, {
      limits,
      hostFunctions: options,
      logs: testLogs,
      bytesMax,
      // One event that uses up its time is enough to refuse the code.
      culpritsMax: 1,
      budget,
    });
    await runBatch(source, run);
    const { error, outcomes, logs, bytes } = run.finish();
    if (error) return { error, outcomes: [], logs };
    budget.holdOutput(bytes);
    const refused = batch.events.slice(outcomes.length).map(() => ({ error: tooMuchOutput }));
    return { outcomes: [...outcomes, ...refused], logs };
  }

  async function inspect(
    workspaceId: string,
    language: GuestLanguage,
    code: string,
    budget?: TestBudget,
  ): Promise<ImportInspection> {
    using own = budget ? undefined : new TestBudget();
    const spent = budget ?? own!;
    const failed = (error: UserError) => ({ imports: [], error });
    const work = requestOf(
      workspaceId,
      language,
      spent,
      (guest) => guest.request({ kind: "inspect", code }, [], exchangeLimits, parseInspectReply),
      failed,
    );
    const parse = () => pool.parseInThrowAway(workspaceId, language, spent, work);
    return await failIfSpent(spent, parse, failed);
  }

  function checkLibrary(
    workspaceId: string,
    language: GuestLanguage,
    { importName, code }: LibraryCode,
    libraries: readonly LibraryCode[],
    budget = new TestBudget(),
  ): Promise<UserError | undefined> {
    const request = { importName, code, libraries, budgetMs: limits.cpuMs };
    const failed = (error: UserError) => error;
    const work = requestOf(
      workspaceId,
      language,
      budget,
      (guest) => guest.request({ kind: "library", ...request }, [], exchangeLimits, parseLoadReply),
      failed,
    );
    const load = () => pool.useThrowAway(workspaceId, language, budget, work);
    return failIfSpent(budget, load, failed);
  }

  /**
   * Returns work that sends one request to a guest process. When the process ends before it replies,
   * the code is to blame: the work resolves with the result of `failed` for the error.
   */
  function requestOf<T>(
    workspaceId: string,
    language: GuestLanguage,
    budget: TestBudget,
    request: (guest: Guest) => Promise<T>,
    failed: (error: UserError) => T,
  ): (source: GuestSource) => Promise<T> {
    return async (source) => {
      const guest = await source.guest();
      try {
        guest.assign(workspaceId, language);
        return await request(guest);
      } catch (error) {
        if (!(error instanceof GuestEndedError)) throw error;
        return failed(budget.error ?? endError(error.end));
      }
    };
  }
}

/**
 * Returns the result of the work. When no guest process starts because the request has already used
 * up its CPU time for tests, resolves with the result of `failed` for the budget's error instead of
 * rejecting.
 */
async function failIfSpent<T>(
  budget: TestBudget,
  work: () => Promise<T>,
  failed: (error: UserError) => T,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SandboxUnavailable) || !budget.cpuSpent) throw error;
    return failed(budget.error!);
  }
}

const tooMuchOutput = {
  message: `Outputs of the tests of one request may be ${TEST_OUTPUT_BYTES_MAX} bytes together`,
};

/** Returns the report of a batch of test events that were not run. */
function refusal({ events }: ProgramBatch, error: UserError): CheckReport {
  return { outcomes: events.map(() => ({ error })), logs: [] };
}

function nameOf(outcome: ProgramOutcome): "failed" | "dropped" | "transformed" {
  if ("error" in outcome) return "failed";
  return outcome.events.length === 0 ? "dropped" : "transformed";
}
