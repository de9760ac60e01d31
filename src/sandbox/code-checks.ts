import { TEST_OUTPUT_BYTES_MAX } from "../settings/limits.ts";
import { AttemptBudget } from "./batch/attempt-budget.ts";
import { testLogs } from "./batch/batch-logs.ts";
import { BatchRun } from "./batch/batch-run.ts";
import { unloadPrograms } from "./batch/load-program.ts";
import { runBatch } from "./batch/run-batch.ts";
import { GUEST_ANSWER_BYTES_MAX } from "./guest-limits.ts";
import type { HostFunctions } from "./host-calls/host-functions.ts";
import type { SandboxLimits } from "./limits.ts";
import type { Guest } from "./process/guest.ts";
import { endError, GuestEndedError } from "./process/guest-end.ts";
import type { GuestSource } from "./process/guest-source.ts";
import type {
  GuestLanguage,
  GuestOwner,
  LibraryCode,
  Program,
  ProgramBatch,
  UserError,
} from "./program.ts";
import { parseInspectReply, parseLoadReply } from "./protocol/reply-parser.ts";
import { type CheckReport, type ImportInspection, SandboxUnavailable } from "./sandbox.ts";
import type { GuestPool } from "./scheduling/guest-pool.ts";
import { TestBudget } from "./test-budget.ts";

/**
 * Returns the functions that check code on request of a user, in guest processes that handle no
 * live events. A check stops when its `budget` is used up; all checks of one request share one
 * budget.
 */
export function createCodeChecks(
  pool: GuestPool,
  limits: SandboxLimits,
  hostFunctions: HostFunctions,
) {
  const { cpuMs, wallMs } = limits;
  const exchangeLimits = { cpuMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX };

  return {
    /** Runs a program on test events. */
    check: async (program: Program, batch: ProgramBatch, budget?: TestBudget) =>
      (await checkAll(program, [batch], budget))[0]!,
    checkAll,
    inspect,
    checkLibrary,
  };

  /**
   * Runs a program on several batches of test events in one guest process, and resolves with one
   * report per batch. The program is loaded again before each batch, so that batches do not affect
   * each other.
   */
  async function checkAll(
    program: Program,
    batches: readonly ProgramBatch[],
    budget = new TestBudget(),
  ): Promise<CheckReport[]> {
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
    const run = () => pool.useThrowAway(program, budget, work);
    return failIfSpent(budget, run, (error) => {
      const rest = batches.slice(reports.length);
      return [...reports, ...rest.map((batch) => refusal(batch, error))];
    });
  }

  /** Runs a program on one batch of test events in the guest process that `source` provides. */
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
      hostFunctions,
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

  /** Parses code, and lists the modules that the code imports. */
  async function inspect(
    workspaceId: string,
    language: GuestLanguage,
    code: string,
    budget?: TestBudget,
  ): Promise<ImportInspection> {
    using own = budget ? undefined : new TestBudget();
    const owner = { workspaceId, language };
    const parse = (guest: Guest) =>
      guest.request({ kind: "inspect", code }, [], exchangeLimits, parseInspectReply);
    const failed = (error: UserError) => ({ imports: [], error });
    return await ask("parseInThrowAway", owner, budget ?? own!, parse, failed);
  }

  /**
   * Loads a library without a transformation. Resolves with the error of the library, or with
   * undefined when it is valid. `libraries` are the other libraries that it may import (only in
   * Python).
   */
  function checkLibrary(
    workspaceId: string,
    language: GuestLanguage,
    { importName, code }: LibraryCode,
    libraries: readonly LibraryCode[],
    budget = new TestBudget(),
  ): Promise<UserError | undefined> {
    const attempts = new AttemptBudget(limits, 1);
    const load = async (guest: Guest): Promise<UserError | undefined> => {
      const { clockMs: budgetMs, loadKillMs } = attempts;
      const request = { kind: "library", importName, code, libraries, budgetMs } as const;
      const loadLimits = { ...exchangeLimits, cpuMs: loadKillMs };
      const failure = await guest.request(request, [], loadLimits, parseLoadReply);
      return failure && attempts.mustLoadAgain(failure) ? load(guest) : failure?.error;
    };
    return ask("useThrowAway", { workspaceId, language }, budget, load, (error) => error);
  }

  /**
   * Calls `request` with a guest process from the pool's method `how`, and resolves with the reply.
   * Resolves with the result of `failed` if the process ends before the reply, or if `budget` has
   * no CPU time left to get a process.
   */
  function ask<T>(
    how: "useThrowAway" | "parseInThrowAway",
    owner: GuestOwner,
    budget: TestBudget,
    request: (guest: Guest) => Promise<T>,
    failed: (error: UserError) => T,
  ): Promise<T> {
    const work = async (source: GuestSource) => {
      const guest = await source.guest();
      try {
        guest.assign(owner);
        return await request(guest);
      } catch (error) {
        if (!(error instanceof GuestEndedError)) throw error;
        return failed(budget.error ?? endError(error.end));
      }
    };
    return failIfSpent(budget, () => pool[how](owner, budget, work), failed);
  }
}

/**
 * Resolves with the result of `work`. If `work` gets no guest process because the CPU time of
 * `budget` is used up, resolves with the result of `failed`, which gets the budget's error.
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

/** Returns the report of a batch of tests that did not run. Every event has the error `error`. */
function refusal({ events }: ProgramBatch, error: UserError): CheckReport {
  return { outcomes: events.map(() => ({ error })), logs: [] };
}
