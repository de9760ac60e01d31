import type { Logger } from "pino";
import { assert } from "../../assert.ts";
import {
  SUSPENDED_MS_MAX,
  SUSPENDED_MS_MIN,
  SUSPENSION_COST,
  SUSPENSION_COST_OF_CULPRITS,
  SUSPENSION_CPU_MS,
} from "../../settings/limits.ts";
import type { SandboxMetrics } from "../metrics.ts";
import type { Program, ProgramOutcome, UserError } from "../program.ts";

/**
 * Maximum number of failing programs whose failures are recorded. Beyond it, the oldest record is
 * deleted.
 */
const SUSPENDED_PROGRAMS_MAX = 10_000;

/**
 * A suspended program. It does not run for a while, because all events of its last batches failed.
 */
export interface ProgramSuspension {
  programId: string;
  workspaceId: string;
  name: string;
  /** End of the suspension, in milliseconds since the epoch. */
  until: number;
  /** First line of the program's last error. */
  reason: string;
}

/** Guests and CPU time that one batch has cost the sandbox. */
export interface BatchCost {
  /** Number of events that used up the time of a guest or ended it. */
  culprits: number;
  cpuMs: number;
  /** Whether the code has taken control of a guest's process. */
  isBroken: boolean;
}

interface FailureRecord {
  program: Program;
  /**
   * Number of failed batches since the last event that succeeded. Expensive batches count several
   * times.
   */
  cost: number;
  /** CPU time of the failed batches since the last event that succeeded, or the last suspension. */
  cpuMs: number;
  batches: number;
  /** Milliseconds of the last suspension; 0 before the first one. */
  periodMs: number;
  until: number;
  reason: string;
}

/**
 * Suspends programs that only fail, so that they do not use up their workspace's guest. A program
 * is suspended after several batches in which all events failed. Then one batch is tried. If all
 * its events fail too, the program is suspended for twice as long.
 *
 * A batch that used up the time of a guest, or ended it, counts as several failed batches. A
 * program is also suspended when its failed batches use much CPU time, or when one batch takes
 * control of its guest. A new revision is a new program, without earlier failures.
 */
export class ProgramSuspensions {
  readonly #records = new Map<string, FailureRecord>();
  readonly #metrics: SandboxMetrics;
  readonly #log: Logger;
  readonly #now: () => number;

  constructor(metrics: SandboxMetrics, log: Logger, now: () => number = Date.now) {
    this.#metrics = metrics;
    this.#log = log;
    this.#now = now;
    metrics.countSuspended(() => this.list().length);
  }

  /**
   * Returns the error for the events of a suspended program; undefined when the program may run.
   */
  errorFor(program: Program): UserError | undefined {
    const record = this.#records.get(program.id);
    if (!record || record.until <= this.#now()) return undefined;
    const seconds = Math.ceil(record.periodMs / 1_000);
    const message = `Transformation is suspended for ${seconds} s: failed batches in a row: ${record.batches}, the last with: ${record.reason}`;
    return { message };
  }

  /**
   * Returns the CPU time in ms that a program may still use before it is suspended, if no event
   * succeeds.
   */
  cpuMsLeft(program: Program): number {
    return SUSPENSION_CPU_MS - (this.#records.get(program.id)?.cpuMs ?? 0);
  }

  /**
   * Records the outcomes and the cost of a batch. Suspends the program when it has failed too
   * often.
   */
  record(program: Program, outcomes: readonly ProgramOutcome[], cost: BatchCost): void {
    assert(cost.cpuMs >= 0, "A batch costs a CPU time that is not negative");
    const last = outcomes.at(-1);
    if (!last) return;
    if (!("error" in last) || outcomes.some((outcome) => !("error" in outcome))) {
      const record = this.#records.get(program.id);
      this.#records.delete(program.id);
      if (record !== undefined && record.periodMs > 0) {
        this.#log.info(logFieldsOf(record), "transformation works again after a suspension");
      }
    } else this.#failed(program, last.error.message, cost);
  }

  list(): ProgramSuspension[] {
    const now = this.#now();
    return [...this.#records.values()]
      .filter(({ until }) => until > now)
      .map(({ program, until, reason }) => {
        const { id: programId, workspaceId, name } = program;
        return { programId, workspaceId, name, until, reason };
      });
  }

  #failed(program: Program, reason: string, { culprits, cpuMs, isBroken }: BatchCost): void {
    const record = this.#records.get(program.id) ?? this.#open(program);
    record.reason = reason.split("\n")[0]!;
    record.batches += 1;
    // A batch that breaks into its guest costs the start of a guest, and is no accident.
    if (isBroken) record.cost += SUSPENSION_COST;
    else record.cost += culprits > 0 ? SUSPENSION_COST_OF_CULPRITS : 1;
    record.cpuMs += cpuMs;
    const enough = record.cost >= SUSPENSION_COST || record.cpuMs >= SUSPENSION_CPU_MS;
    if (!enough && record.periodMs === 0) return;
    record.cpuMs = 0;
    record.periodMs = Math.min(SUSPENDED_MS_MAX, record.periodMs * 2 || SUSPENDED_MS_MIN);
    record.until = this.#now() + record.periodMs;
    this.#metrics.suspensions.inc();
    // Only the first suspension is logged: the next ones, each twice as long, say nothing new.
    if (record.periodMs > SUSPENDED_MS_MIN) return;
    this.#log.warn(logFieldsOf(record), "transformation suspended because it only fails");
  }

  #open(program: Program): FailureRecord {
    if (this.#records.size >= SUSPENDED_PROGRAMS_MAX) {
      const [oldest] = this.#records.keys();
      this.#records.delete(oldest!);
    }
    const record = { program, cost: 0, cpuMs: 0, batches: 0, periodMs: 0, until: 0, reason: "" };
    this.#records.set(program.id, record);
    return record;
  }
}

/**
 * Returns the log fields of a failing program. They do not contain its error, because user code
 * writes its text, which may contain data of events.
 */
function logFieldsOf({ program: { workspaceId, id, name }, batches }: FailureRecord) {
  return { workspaceId, programId: id, transformation: name, failedBatches: batches };
}
