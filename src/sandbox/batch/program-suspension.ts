import type { Logger } from "pino";
import { assert } from "../../assert.ts";
import {
  SUSPENDED_MS_MAX,
  SUSPENDED_MS_MIN,
  SUSPENSION_BATCHES,
  SUSPENSION_CPU_MS,
  SUSPENSION_EVENTS,
  SUSPENSION_GOOD_MS,
} from "../../settings/limits.ts";
import type { SandboxMetrics } from "../metrics.ts";
import type { Program, ProgramOutcome, UserError } from "../program.ts";

/**
 * Maximum number of failing programs whose failures are recorded. Beyond it, the oldest record is
 * deleted.
 */
const SUSPENDED_PROGRAMS_MAX = 10_000;

/**
 * A suspended program (user code with its libraries). The program does not run for a while, because
 * all events of its last batches failed.
 */
export interface ProgramSuspension {
  programId: string;
  workspaceId: string;
  name: string;
  /** Time after which a batch is tried, in milliseconds since the epoch. */
  until: number;
  /** First line of the program's last error. */
  reason: string;
}

/** Cost of one batch of events that ran in the sandbox. */
export interface BatchCost {
  cpuMs: number;
  /** Whether the code has taken control of the guest process that ran it. */
  isBroken: boolean;
}

interface FailureRecord {
  program: Program;
  /**
   * Number of failed batches since the last event that succeeded; `events` and `cpuMs` are the
   * events and the CPU time of these batches.
   */
  batches: number;
  events: number;
  cpuMs: number;
  /** Time of the last successful event that followed a failed batch. */
  goodAt: number;
  /** Length in milliseconds of the program's last suspension; 0 before the first one. */
  periodMs: number;
  until: number;
  /** Number of batches that run now, other than the first one that failed. */
  trials: number;
  reason: string;
}

/**
 * Suspends programs that only fail, so that they do not use up the processes of their workspace. A
 * program is suspended after several batches in which all events failed, or earlier when many
 * events in a row failed and used much CPU time. When the suspension ends, one batch is tried. If
 * all its events fail too, the program is suspended for twice as long.
 *
 * A program of which some events succeed is not suspended, since these events would become dead
 * letters. A program that takes control of its guest process in a batch without a successful event
 * is suspended at once. A new revision is a new program, without earlier failures.
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
   * Returns the error for the events of a program that is suspended (not run because it only
   * fails); undefined when the program may run.
   */
  errorFor(program: Program): UserError | undefined {
    const record = this.#records.get(program.id);
    if (!record || record.until <= this.#now()) return undefined;
    const seconds = Math.ceil(record.periodMs / 1_000);
    const message = `Transformation is suspended for ${seconds} s: failed batches in a row: ${record.batches}, the last with: ${record.reason}`;
    return { message };
  }

  /**
   * Begins a batch of a program. A program that was suspended stays in the list until its batch has
   * ended, which takes a minute when each event uses up its time.
   */
  beginTrial(program: Program): Disposable {
    const record = this.#records.get(program.id);
    if (record) record.trials += 1;
    return {
      [Symbol.dispose]() {
        if (record) record.trials -= 1;
      },
    };
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
      if (record === undefined) return;
      if (record.periodMs > 0) {
        this.#log.info(logFieldsOf(record), "transformation works again after a suspension");
      }
      Object.assign(record, unfailed, { goodAt: this.#now() });
    } else this.#failed(program, last.error.message, outcomes.length, cost);
  }

  list(): ProgramSuspension[] {
    const now = this.#now();
    return [...this.#records.values()]
      .filter(({ until, periodMs, trials }) => until > now || (periodMs > 0 && trials > 0))
      .map(({ program, until, reason }) => {
        const { id: programId, workspaceId, name } = program;
        return { programId, workspaceId, name, until, reason };
      });
  }

  #failed(program: Program, reason: string, events: number, { cpuMs, isBroken }: BatchCost): void {
    const record = this.#records.get(program.id) ?? this.#open(program);
    record.reason = reason.split("\n")[0]!;
    record.batches += 1;
    record.events += events;
    record.cpuMs += cpuMs;
    // A batch that breaks into its guest is no accident of some events.
    if (!isBroken && !this.#onlyFails(record)) return;
    record.periodMs = Math.min(SUSPENDED_MS_MAX, record.periodMs * 2 || SUSPENDED_MS_MIN);
    record.until = this.#now() + record.periodMs;
    this.#metrics.suspensions.inc();
    // Only the first suspension is logged: the next ones, each twice as long, say nothing new.
    if (record.periodMs > SUSPENDED_MS_MIN) return;
    this.#log.warn(logFieldsOf(record), "transformation suspended because it only fails");
  }

  #onlyFails({ batches, events, cpuMs, goodAt, periodMs }: FailureRecord): boolean {
    if (this.#now() - goodAt < SUSPENSION_GOOD_MS) return false;
    if (periodMs > 0 || batches >= SUSPENSION_BATCHES) return true;
    return events >= SUSPENSION_EVENTS && cpuMs >= SUSPENSION_CPU_MS;
  }

  #open(program: Program): FailureRecord {
    if (this.#records.size >= SUSPENDED_PROGRAMS_MAX) {
      const [oldest] = this.#records.keys();
      this.#records.delete(oldest!);
    }
    const record = { program, ...unfailed, trials: 0, goodAt: Number.NEGATIVE_INFINITY };
    this.#records.set(program.id, record);
    return record;
  }
}

/** Initial record of a program: no failures since its last event that succeeded. */
const unfailed = { batches: 0, events: 0, cpuMs: 0, periodMs: 0, until: 0, reason: "" };

/**
 * Returns the log fields of a failing program. They do not contain its error, because user code
 * writes its text, which may contain data of events.
 */
function logFieldsOf({ program: { workspaceId, id, name }, batches }: FailureRecord) {
  return { workspaceId, programId: id, transformation: name, failedBatches: batches };
}
