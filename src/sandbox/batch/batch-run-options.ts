import type { HostFunctions } from "../host-calls/host-functions.ts";
import type { SandboxLimits } from "../limits.ts";
import type { GuestEndCause } from "../process/guest-end.ts";
import type { ProgramOutcome } from "../program.ts";
import type { CheckReport } from "../sandbox.ts";
import type { TestBudget } from "../test-budget.ts";
import type { LogBounds } from "./batch-logs.ts";
import type { ProgramTrial } from "./program-suspension.ts";

export interface BatchRunResult extends CheckReport {
  /**
   * Outcomes of all events, or of the first ones only (at least one) when the outputs have more
   * than `bytesMax` bytes.
   */
  outcomes: ProgramOutcome[];
  /** Estimate of the memory in bytes that the outcomes of the batch's events take. */
  bytes: number;
  /**
   * Causes of the costly failures: one for each event that used up its time or ended a guest
   * process, and one for each load of the program that ended a guest process.
   */
  culprits: readonly GuestEndCause[];
  /** CPU time of the guest processes during the batch, measured at intervals. */
  cpuMs: number;
  /**
   * Whether an event or a load of the program ran out of wall-clock time before it had used up its
   * CPU time. The machine may have been too busy.
   */
  isDoubtful: boolean;
}

export interface BatchRunOptions {
  limits: SandboxLimits;
  /** Bounds of the lines that user code writes with `log(...)`. */
  logs: LogBounds;
  /**
   * Number of events in the batch that may use up the whole CPU limit. Once that many events have
   * done so, each further event gets only a short CPU time.
   */
  culpritsMax: number;
  /** Budget of a test run. When it ends, events without an outcome fail with the budget's error. */
  budget?: TestBudget;
  /** Limit on the total bytes of the outputs. Above it, the run ends before all events have run. */
  bytesMax: number;
  hostFunctions: HostFunctions;
  /**
   * Decides during the batch whether to suspend the program (not to run it for a while) because all
   * its events fail. Absent in a test run.
   */
  trial?: ProgramTrial;
}
