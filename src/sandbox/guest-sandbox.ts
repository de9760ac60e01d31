import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { GUEST_CULPRITS_MAX, TEST_OUTPUT_BYTES_MAX } from "../settings/limits.ts";
import { endError, isBreach } from "./batch/end-errors.ts";
import { type ProgramSuspension, ProgramSuspensions } from "./batch/program-suspension.ts";
import { runBatch } from "./batch/run-batch.ts";
import { GUEST_ANSWER_BYTES_MAX, GUEST_MEMORY_POLL_MS } from "./guest-limits.ts";
import type { HostFunctions } from "./host-calls/host-functions.ts";
import { defaultLimits, type SandboxLimits } from "./limits.ts";
import { createSandboxMetrics } from "./metrics.ts";
import type { Guest, GuestSource } from "./process/guest.ts";
import { GuestEndedError } from "./process/guest-end.ts";
import type {
  GuestLanguage,
  LibraryCode,
  Program,
  ProgramBatch,
  ProgramOutcome,
  UserError,
} from "./program.ts";
import { jsonArrayBytes } from "./protocol/guest-frames.ts";
import { parseInspectReply, parseLoadReply } from "./protocol/reply-parser.ts";
import {
  type CheckReport,
  type ImportInspection,
  type Sandbox,
  SandboxUnavailable,
} from "./sandbox.ts";
import { GuestPool } from "./scheduling/guest-pool.ts";
import { GuestStarter, type SandboxStatus } from "./scheduling/guest-starter.ts";
import { TestBudget } from "./test-budget.ts";

/** Bytes of outputs of a live batch; beyond it, the caller runs the rest of the batch later. */
export const GUEST_BATCH_OUTPUT_BYTES_MAX = 2 << 20;

export interface SandboxOptions extends HostFunctions {
  /** Starts a guest; the language is appended: `[process.execPath, "guest"]`. */
  guestCommand: readonly string[];
  /** Whether user code runs although the kernel cannot confine it. */
  insecure: boolean;
  log: Logger;
  metrics?: Registry;
  limits?: Partial<SandboxLimits>;
}

export interface GuestSandbox extends Sandbox {
  /** Whether user code runs, for `/ready`. */
  status(): SandboxStatus;
  /** Programs that do not run for a while because they only fail. */
  suspended(): ProgramSuspension[];
  /** Guests alive, and workspaces that wait for one. */
  guestCounts(): { alive: number; awaited: number };
}

export type { ProgramSuspension, SandboxStatus };

/** Creates a sandbox of locked-down child processes. Starts a warm spare at once. */
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
  const liveOptions = {
    limits,
    hostFunctions: options,
    logs: false,
    bytesMax: GUEST_BATCH_OUTPUT_BYTES_MAX,
    culpritsMax: GUEST_CULPRITS_MAX,
  };
  const { cpuMs, wallMs } = limits;
  const exchangeLimits = { cpuMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX };
  const suspensions = new ProgramSuspensions(metrics, options.log);
  const pool = new GuestPool(starter, limits);
  metrics.countWaiting(() => pool.waitingCount);
  metrics.countBackingOff(() => pool.backingOffCount);

  return {
    status: () => starter.status(),
    suspended: () => suspensions.list(),
    guestCounts: () => ({ alive: starter.aliveCount, awaited: pool.waitingCount }),
    run,
    check,
    inspect,
    checkLibrary,
    async close() {
      pool.close();
      await starter.close();
    },
  };

  async function run(program: Program, batch: ProgramBatch): Promise<ProgramOutcome[]> {
    const suspended = suspensions.errorFor(program);
    if (suspended) return counted(batch.events.map(() => ({ error: suspended })));
    const endTimer = metrics.runSeconds.startTimer();
    const fruitlessCpuMs = suspensions.cpuMsLeft(program);
    const { outcomes, culprits, cpuMs } = await pool.use(
      program.workspaceId,
      program.language,
      jsonArrayBytes(batch.events) + jsonArrayBytes(batch.metadata),
      (source) => runBatch(source, program, batch, { ...liveOptions, fruitlessCpuMs }),
    );
    endTimer();
    for (const cause of culprits) metrics.culprits.inc({ cause });
    const isBroken = culprits.some(isBreach);
    suspensions.record(program, outcomes, { culprits: culprits.length, cpuMs, isBroken });
    return counted(outcomes);
  }

  /** Returns the outcomes after counting them in the metrics. */
  function counted(outcomes: ProgramOutcome[]): ProgramOutcome[] {
    const counts = { failed: 0, dropped: 0, transformed: 0 };
    for (const outcome of outcomes) counts[nameOf(outcome)] += 1;
    for (const [outcome, count] of Object.entries(counts)) {
      if (count > 0) metrics.events.inc({ outcome }, count);
    }
    return outcomes;
  }

  async function check(
    program: Program,
    batch: ProgramBatch,
    budget = new TestBudget(),
  ): Promise<CheckReport> {
    const { workspaceId, language } = program;
    const bytesMax = budget.outputBytesLeft;
    // One event that uses up its time is enough to refuse the code.
    const testOptions = {
      limits,
      hostFunctions: options,
      logs: true,
      bytesMax,
      culpritsMax: 1,
      fruitlessCpuMs: limits.fruitlessTestCpuMs,
      budget,
    };
    const refused = (from: number) =>
      batch.events.slice(from).map(() => ({ error: tooMuchOutput }));
    if (bytesMax === 0) return { outcomes: refused(0), logs: [] };
    const runTest = async () => {
      const { error, outcomes, logs, bytes } = await pool.useThrowAway(
        workspaceId,
        language,
        budget,
        (source) => runBatch(source, program, batch, testOptions),
      );
      if (error) return { error, outcomes: [], logs };
      budget.holdOutput(bytes);
      return { outcomes: [...outcomes, ...refused(outcomes.length)], logs };
    };
    return failIfSpent(budget, runTest, (error) => {
      return { outcomes: batch.events.map(() => ({ error })), logs: [] };
    });
  }

  function inspect(
    workspaceId: string,
    language: GuestLanguage,
    code: string,
    budget = new TestBudget(),
  ): Promise<ImportInspection> {
    return requestOnce(
      workspaceId,
      language,
      budget,
      (guest) => guest.request({ kind: "inspect", code }, [], exchangeLimits, parseInspectReply),
      (error) => ({ imports: [], error }),
    );
  }

  function checkLibrary(
    workspaceId: string,
    language: GuestLanguage,
    { importName, code }: LibraryCode,
    libraries: readonly LibraryCode[],
    budget = new TestBudget(),
  ): Promise<UserError | undefined> {
    const request = { importName, code, libraries, budgetMs: limits.cpuMs };
    return requestOnce(
      workspaceId,
      language,
      budget,
      (guest) => guest.request({ kind: "library", ...request }, [], exchangeLimits, parseLoadReply),
      (error) => error,
    );
  }

  /** Sends one request to a throw-away guest; the guest's end is an error of the code. */
  function requestOnce<T>(
    workspaceId: string,
    language: GuestLanguage,
    budget: TestBudget,
    request: (guest: Guest) => Promise<T>,
    failed: (error: UserError) => T,
  ): Promise<T> {
    const work = async (source: GuestSource) => {
      const guest = await source.guest();
      try {
        guest.assign(workspaceId, language);
        return await request(guest);
      } catch (error) {
        if (!(error instanceof GuestEndedError)) throw error;
        return failed(budget.error ?? endError(error.end));
      }
    };
    return failIfSpent(
      budget,
      () => pool.useThrowAway(workspaceId, language, budget, work),
      failed,
    );
  }
}

/**
 * Fails work for which no guest started because the request had used up its CPU time, with the error
 * of the work that ran when it did.
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

function nameOf(outcome: ProgramOutcome): "failed" | "dropped" | "transformed" {
  if ("error" in outcome) return "failed";
  return outcome.events.length === 0 ? "dropped" : "transformed";
}
