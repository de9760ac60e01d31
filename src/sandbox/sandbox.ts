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
  /** Set when compiling, linking or loading failed: no event ran. */
  error?: UserError;
  /** One per input event when it loaded. */
  outcomes: ProgramOutcome[];
  logs: LogLine[];
}

export interface ImportInspection {
  /** Module names that the code imports, in code order; empty when it does not parse. */
  imports: string[];
  error?: UserError;
}

/** Runs user code over events in locked-down child processes. */
export interface Sandbox {
  /**
   * Runs a live program. Resolves with one outcome per event, in input order, whatever the code
   * does: for all events, or for the first ones (at least one) when the outputs of all are more
   * than may be held; the caller runs the others again. Rejects with `SandboxUnavailable` only when
   * no guest can be started; no event has an outcome then, and the caller tries again later.
   */
  run(program: Program, batch: ProgramBatch): Promise<ProgramOutcome[]>;
  /**
   * Runs a program over test events in a guest that serves no live traffic and ends after it.
   * This and the two calls below end with their budget, which all calls of one request share.
   */
  check(program: Program, batch: ProgramBatch, budget?: TestBudget): Promise<CheckReport>;
  /** Parses code and lists what it imports, in a throw-away guest. */
  inspect(
    workspaceId: string,
    language: GuestLanguage,
    code: string,
    budget?: TestBudget,
  ): Promise<ImportInspection>;
  /**
   * Loads a library alone; resolves with its error, or undefined when it is valid. `libraries` are
   * those that it may import (Python).
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

/** No guest could be started; the events are untouched. */
export class SandboxUnavailable extends Error {
  override readonly name = "SandboxUnavailable";
}
