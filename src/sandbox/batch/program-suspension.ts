import type { Logger } from "pino";
import {
  CODE_SLOW_MS,
  SUSPENDED_MS_MAX,
  SUSPENDED_MS_MIN,
  SUSPENSION_BATCHES,
  SUSPENSION_CULPRITS,
  SUSPENSION_GOOD_MS,
} from "../../settings/limits.ts";
import type { SandboxMetrics } from "../metrics.ts";
import type { Program, ProgramOutcome, UserError } from "../program.ts";

/**
 * Maximum number of failing programs whose failures are recorded. Beyond it, the record of the
 * program that failed longest ago is deleted.
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
  /** End of the suspension in milliseconds since the Unix epoch. After it, one batch is tried. */
  until: number;
  /** First line of the program's last error. It may contain credentials. */
  reason: string;
  credentials: Program["credentials"];
}

/** A running program none of whose events has succeeded for `CODE_SLOW_MS`. */
export interface SlowProgram {
  programId: string;
  workspaceId: string;
  /**
   * Time in Unix milliseconds at which the program began to run or at which its last event
   * succeeded, whichever is later.
   */
  since: number;
}

interface RunningProgram extends SlowProgram {
  /** Number of the program's batches that are running. */
  batches: number;
}

/** Facts about the run of a batch that decide whether a failed batch counts against its program. */
export interface BatchFacts {
  /** Whether the code has taken control of the guest process that ran it. */
  hasBreached: boolean;
  /**
   * Whether it is doubtful that the code is to blame: the wall-clock time for an event, or for
   * loading the program, ended before the CPU time was used up. The machine may have been too busy.
   */
  isDoubtful: boolean;
}

/** Decides while a batch runs whether to suspend its program. */
export type ProgramTrial = ReturnType<ProgramSuspensions["beginTrial"]>;

interface FailureRecord {
  program: Program;
  /** Number of failed batches since the last event that succeeded. */
  batches: number;
  /**
   * Number of events that have used up their CPU time or ended their guest process since the
   * program's last successful event. A suspension because of them sets it to `SUSPENSION_CULPRITS -
   * 2`, so that two more cause the next one.
   */
  culprits: number;
  /** Length in milliseconds of the program's last suspension; 0 before the first one. */
  periodMs: number;
  until: number;
  reason: string;
}

/**
 * Suspends programs that only fail, so that they do not use up the processes of their workspace. A
 * program is suspended
 * - after several batches in a row in which all events failed, except batches for which the machine
 *   may have been too busy
 * - even in the middle of a batch, after several events without a success between them that used up
 *   their CPU time or ended their guest process
 * - at once, if it takes control of its guest process in a batch without a successful event.
 *
 * Except for the last case, a successful event prevents a suspension for `SUSPENSION_GOOD_MS`.
 * After a suspension, one batch is tried. If all its events fail, the next suspension is twice as
 * long, up to a limit.
 */
export class ProgramSuspensions {
  readonly #records = new Map<string, FailureRecord>();
  /**
   * Program id → time of the program's last successful event. The map is ordered by this time, the
   * oldest first. Times older than `SUSPENSION_GOOD_MS` are deleted.
   */
  readonly #goodAt = new Map<string, number>();
  readonly #running = new Map<string, RunningProgram>();

  /**
   * `now` returns the time in milliseconds by a monotonic clock. All times in the fields of this
   * object are by this clock.
   */
  constructor(
    private readonly metrics: SandboxMetrics,
    private readonly log: Logger,
    private readonly now: () => number = () => performance.now(),
  ) {
    metrics.countSuspended(() => this.list().length);
  }

  /**
   * Returns the error for the events of a program that is suspended; undefined when the program may
   * run.
   */
  errorFor(program: Program): UserError | undefined {
    const record = this.#records.get(program.id);
    if (!record || record.until <= this.now()) return undefined;
    const seconds = Math.ceil(record.periodMs / 1_000);
    const message = `Transformation is suspended for ${seconds} s, since it only fails: ${record.reason}`;
    return { message };
  }

  /**
   * Begins a batch of a program; the caller must dispose of the result when the batch ends. Until
   * then, a program that was suspended before stays in `list`, unless an event succeeds.
   */
  beginTrial(program: Program) {
    const { id: programId, workspaceId } = program;
    const begun = { programId, workspaceId, since: this.now(), batches: 0 };
    const running = this.#running.getOrInsert(programId, begun);
    running.batches += 1;
    const culprits = () => (this.#isGood(programId) ? 0 : this.#records.get(programId)?.culprits);
    return {
      /**
       * Whether an event of the program has used up its CPU time or ended its guest process, and no
       * event of the program has succeeded since then.
       */
      isSuspect: () => (culprits() ?? 0) > 0,
      /**
       * Whether the next event that uses up its time or ends its guest process suspends the
       * program.
       */
      isLastTry: () => culprits() === SUSPENSION_CULPRITS - 1,
      /** Error for the events that have not run; undefined while the program may run. */
      suspended: () => this.errorFor(program),
      noteSuccess: () => this.#succeeded(program),
      /** Notes an event that used up its CPU time by itself, or that ended its guest process. */
      noteCulprit: (reason: string) => this.#noteCulprit(program, reason),
      [Symbol.dispose]: () => {
        running.batches -= 1;
        if (running.batches === 0) this.#running.delete(programId);
      },
    };
  }

  /** Records the outcomes of a batch. Suspends the program when it has failed too often. */
  record(
    program: Program,
    outcomes: readonly ProgramOutcome[],
    { hasBreached, isDoubtful }: BatchFacts,
  ): void {
    const last = outcomes.at(-1);
    if (!last) return;
    if (!("error" in last) || outcomes.some((outcome) => !("error" in outcome))) {
      this.#succeeded(program);
    } else if (hasBreached || !isDoubtful) {
      this.#failed(program, last.error.message, hasBreached);
    }
  }

  #succeeded(program: Program): void {
    const now = this.now();
    this.#goodAt.delete(program.id);
    this.#goodAt.set(program.id, now);
    for (const id of this.#goodAt.keys()) {
      if (this.#isGood(id)) break;
      this.#goodAt.delete(id);
    }
    const running = this.#running.get(program.id);
    if (running) running.since = now;
    const record = this.#records.get(program.id);
    if (record === undefined) return;
    if (record.periodMs > 0) {
      this.log.info(logFieldsOf(record), "transformation works again after a suspension");
    }
    this.#records.delete(program.id);
  }

  #isGood(programId: string): boolean {
    const goodAt = this.#goodAt.get(programId) ?? Number.NEGATIVE_INFINITY;
    return this.now() - goodAt < SUSPENSION_GOOD_MS;
  }

  #noteCulprit(program: Program, reason: string): void {
    const record = this.#failing(program);
    record.culprits += 1;
    record.reason = reason;
    if (record.culprits < SUSPENSION_CULPRITS || this.#isGood(program.id)) return;
    // The next suspension takes two events more, of which the second is the last of its batch.
    record.culprits = SUSPENSION_CULPRITS - 2;
    this.#suspend(record);
  }

  list(): ProgramSuspension[] {
    const now = this.now();
    return [...this.#records.values()]
      .filter(
        ({ program, until, periodMs }) =>
          until > now || (periodMs > 0 && this.#running.has(program.id)),
      )
      .map(({ program, until, reason }) => {
        const { id: programId, workspaceId, name, credentials } = program;
        return { programId, workspaceId, name, until: this.#timeOf(until), reason, credentials };
      });
  }

  /** Lists the running programs none of whose events has succeeded for `CODE_SLOW_MS`. */
  slow(): SlowProgram[] {
    const now = this.now();
    return [...this.#running.values()]
      .filter(({ since }) => now - since >= CODE_SLOW_MS)
      .map(({ programId, workspaceId, since }) => {
        return { programId, workspaceId, since: this.#timeOf(since) };
      });
  }

  /** Converts a time of the clock `now` to milliseconds since the Unix epoch. */
  #timeOf(at: number): number {
    return Math.round(Date.now() + at - this.now());
  }

  #failed(program: Program, reason: string, hasBreached: boolean): void {
    const record = this.#failing(program);
    // A suspended program keeps the error for which it was suspended.
    if (record.until <= this.now()) record.reason = reason.split("\n")[0]!;
    record.batches += 1;
    // A batch that breaks into its guest is no accident of some events.
    if (hasBreached || this.#onlyFails(record)) this.#suspend(record);
  }

  #suspend(record: FailureRecord): void {
    // The batch, or another one beside it, has suspended the program already.
    if (record.until > this.now()) return;
    record.periodMs = Math.min(SUSPENDED_MS_MAX, record.periodMs * 2 || SUSPENDED_MS_MIN);
    record.until = this.now() + record.periodMs;
    this.metrics.suspensions.inc();
    // Only the first suspension is logged: the next ones, each twice as long, say nothing new.
    if (record.periodMs > SUSPENDED_MS_MIN) return;
    this.log.warn(logFieldsOf(record), "transformation suspended because it only fails");
  }

  #onlyFails({ program, batches, periodMs }: FailureRecord): boolean {
    return !this.#isGood(program.id) && (periodMs > 0 || batches >= SUSPENSION_BATCHES);
  }

  /**
   * Returns the failure record of a program; creates it if there is none. Moves the record to the
   * end of `#records`, because the first record is deleted when there are too many.
   */
  #failing(program: Program): FailureRecord {
    const record = this.#records.get(program.id) ?? { program, ...unfailed };
    this.#records.delete(program.id);
    const [oldest] = this.#records.keys();
    if (oldest !== undefined && this.#records.size >= SUSPENDED_PROGRAMS_MAX) {
      this.#records.delete(oldest);
    }
    this.#records.set(program.id, record);
    return record;
  }
}

/** Record of a program without failures. */
const unfailed = { batches: 0, culprits: 0, periodMs: 0, until: 0, reason: "" };

/**
 * Returns the fields of a log line about a failing program. The program's error is left out,
 * because its text comes from user code and may contain data of events.
 */
function logFieldsOf({ program: { workspaceId, id, name }, batches }: FailureRecord) {
  return { workspaceId, programId: id, transformation: name, failedBatches: batches };
}
