import type { HostFunctions } from "../host-calls/host-functions.ts";
import type { SandboxLimits } from "../limits.ts";
import type { GuestEndCause } from "../process/guest-end.ts";
import type { LogLine, ProgramOutcome, UserError } from "../program.ts";
import type { TestBudget } from "../test-budget.ts";
import type { LogBounds } from "./batch-logs.ts";
import type { ProgramTrial } from "./program-suspension.ts";

export interface BatchRunResult {
  /** Why the program did not load. No event has run then. */
  error?: UserError;
  /**
   * Outcomes of all events, or of the first ones only (at least one) when the outputs have more
   * than `bytesMax` bytes.
   */
  outcomes: ProgramOutcome[];
  logs: LogLine[];
  /** Memory in bytes that the outcomes take. */
  bytes: number;
  /** Causes for which events, or the load of the program, ended a guest or used up its time. */
  culprits: readonly GuestEndCause[];
  /** CPU time of the guest processes during the batch, measured at intervals. */
  cpuMs: number;
  /** Whether an event failed by the clock alone, perhaps only because the machine is busy. */
  isDoubtful: boolean;
}

export interface BatchRunOptions {
  limits: SandboxLimits;
  /** Bounds of the lines that user code writes with `log(...)`. */
  logs: LogBounds;
  /**
   * Number of events in the batch that may use the whole CPU time before they are stopped. After
   * this number of timeouts, each further event gets a short CPU time.
   */
  culpritsMax: number;
  /** Budget of a test run. When it ends, events without an outcome fail with the budget's error. */
  budget?: TestBudget;
  /** Size in bytes of the outputs above which the run ends early. */
  bytesMax: number;
  hostFunctions: HostFunctions;
  /** Judges the program while its batch runs. Absent in a test run. */
  trial?: ProgramTrial;
}
