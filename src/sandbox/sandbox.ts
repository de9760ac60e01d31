import type {
  GuestLanguage,
  LibraryCode,
  LogLine,
  LogSink,
  Program,
  ProgramBatch,
  ProgramOutcome,
  UserError,
} from "./program.ts";
import type { TestBudget } from "./test-budget.ts";

export interface CheckReport {
  /** Set when the code could not be compiled, linked or loaded. In this case no event has run. */
  error?: UserError;
  /** One outcome per input event; empty when `error` is set. */
  outcomes: ProgramOutcome[];
  logs: LogLine[];
}

export interface ImportInspection {
  /**
   * Names of the modules that the code imports, in the order of the code; empty when the code does
   * not parse.
   */
  imports: string[];
  error?: UserError;
}

/** Runs user code on events, in child processes that are isolated from the system. */
export interface Sandbox {
  /**
   * Runs a published program (user code with its libraries). Resolves with one outcome per event,
   * in input order, whatever the code does. When the outputs of all events need too much memory, it
   * resolves with the outcomes of the first events only (at least one), and the caller runs the
   * other events again. `logs` receives the lines that the code writes with `log(...)`; absent: they
   * are dropped. Rejects with `SandboxUnavailable` only when no process for user code can be
   * started. Then no event has an outcome, and the caller tries again later.
   */
  run(program: Program, batch: ProgramBatch, logs?: LogSink): Promise<ProgramOutcome[]>;
  /**
   * Runs a program on test events, in a process that handles no live events and ends afterwards.
   * `check`, `inspect` and `checkLibrary` stop when `budget` ends; all calls of one request share
   * one budget.
   */
  check(program: Program, batch: ProgramBatch, budget?: TestBudget): Promise<CheckReport>;
  /**
   * Like `check` for several batches, in one process. Each batch meets the program as it is after
   * loading: what it changed in the batch before does not last.
   */
  checkAll(
    program: Program,
    batches: readonly ProgramBatch[],
    budget?: TestBudget,
  ): Promise<CheckReport[]>;
  /** Parses code in a process that ends afterwards, and lists the modules that the code imports. */
  inspect(
    workspaceId: string,
    language: GuestLanguage,
    code: string,
    budget?: TestBudget,
  ): Promise<ImportInspection>;
  /**
   * Loads a library without a transformation. Resolves with its error, or with undefined when it is
   * valid. `libraries` are the other libraries that it may import (only in Python).
   */
  checkLibrary(
    workspaceId: string,
    language: GuestLanguage,
    library: LibraryCode,
    libraries: readonly LibraryCode[],
    budget?: TestBudget,
  ): Promise<UserError | undefined>;
  close(): Promise<void>;
}

/**
 * Error: no process that runs user code could be started. The events have no outcome and can be run
 * again.
 */
export class SandboxUnavailable extends Error {
  override readonly name = "SandboxUnavailable";
}
