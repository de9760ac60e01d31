import type { LogLine, ProgramOutcome, UserError } from "./program.ts";

export interface CheckReport {
  /**
   * Error because of which the code could not be compiled, linked or loaded. If it is present, no
   * event has run.
   */
  error?: UserError;
  /** One outcome per input event; empty when `error` is set. */
  outcomes: ProgramOutcome[];
  logs: LogLine[];
}

export interface ImportInspection {
  /**
   * Names of the modules that the code imports, in the order in which they occur; empty when the
   * code does not parse.
   */
  imports: string[];
  error?: UserError;
}

/**
 * Error that is thrown when no process that runs user code could be started. No event of the failed
 * run has an outcome, and the run can be repeated.
 */
export class SandboxUnavailable extends Error {
  override readonly name = "SandboxUnavailable";
}
