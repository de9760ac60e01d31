import type {
  GuestLanguage,
  LibraryCode,
  LogLine,
  Program,
  ProgramBatch,
  ProgramOutcome,
  UserError,
} from "./program.ts";
import type { TestBudget } from "./test-budget.ts";

export interface CheckReport {
  /** Set when the code could not be compiled, linked or loaded. No event has run then. */
  error?: UserError;
  /** One outcome per input event; empty when `error` is set. */
  outcomes: ProgramOutcome[];
  logs: LogLine[];
}

export interface ImportInspection {
  /**
   * Names of the modules that the code imports, in code order; empty when the code does not parse.
   */
  imports: string[];
  error?: UserError;
}

/** Runs user code on events, in child processes that are isolated from the system. */
export interface Sandbox {
  /**
   * Runs a published program. Resolves with one outcome per event, in input order, whatever the
   * code does. When the outputs of all events need too much memory, it resolves with the outcomes
   * of the first ones only (at least one), and the caller runs the other events again. Rejects with
   * `SandboxUnavailable` only when no guest can be started. Then no event has an outcome, and the
   * caller tries again later.
   */
  run(program: Program, batch: ProgramBatch): Promise<ProgramOutcome[]>;
  /**
   * Runs a program on test events, in a guest that processes no live events and ends afterwards.
   * `check`, `inspect` and `checkLibrary` stop when `budget` ends; all calls of one request share
   * one budget.
   */
  check(program: Program, batch: ProgramBatch, budget?: TestBudget): Promise<CheckReport>;
  /** Parses code in a guest that ends afterwards, and lists the modules that the code imports. */
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

/** No guest could be started. The events have no outcome and can be run again. */
export class SandboxUnavailable extends Error {
  override readonly name = "SandboxUnavailable";
}
