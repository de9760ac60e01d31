import { assert } from "../../assert.ts";
import { GUEST_SHORT_CPU_MS_MAX } from "../../settings/limits.ts";
import { GUEST_ANSWER_BYTES_MAX } from "../guest-limits.ts";
import { HostCalls } from "../host-calls/host-calls.ts";
import type { HostFunctions } from "../host-calls/host-functions.ts";
import type { SandboxLimits } from "../limits.ts";
import type { Guest, GuestSource } from "../process/guest.ts";
import { type GuestEndCause, GuestEndedError } from "../process/guest-end.ts";
import type { LogLine, Program, ProgramBatch, ProgramOutcome, UserError } from "../program.ts";
import { type JsonTexts, jsonArrayBytes } from "../protocol/guest-frames.ts";
import type { RunStop } from "../protocol/guest-protocol.ts";
import { parseRunReply, type RunReport } from "../protocol/reply-parser.ts";
import type { TestBudget } from "../test-budget.ts";
import { BatchLogs } from "./batch-logs.ts";
import { endError } from "./end-errors.ts";
import { firstFrameOf } from "./frame-events.ts";
import { isResponsive, loadProgram, type RunAccounting } from "./load-program.ts";

/**
 * An event that runs alone is blamed for its guest's death, although another program was loaded in
 * the guest, once more than this number of guests have died in a row.
 */
const LOSSES_MAX = 3;
/**
 * Attempts to run an event when the machine gives it too little CPU. Each attempt may take twice as
 * long as the last.
 */
const STARVED_ATTEMPTS_MAX = 3;

export interface BatchRunResult {
  /** Set when the program did not load. No event has run then. */
  error?: UserError;
  /**
   * Outcomes of all events, or of the first ones only (at least one) when the outputs have more
   * than `bytesMax` bytes.
   */
  outcomes: ProgramOutcome[];
  logs: LogLine[];
  /** Memory in bytes that the outcomes take. */
  bytes: number;
  /** Causes for which an event, or the load of the program, ended a guest or used up its time. */
  culprits: readonly GuestEndCause[];
  /** CPU time of the guests during the batch, measured at intervals. */
  cpuMs: number;
}

export interface BatchRunOptions {
  limits: SandboxLimits;
  /** Whether lines of `log(...)` are kept. */
  logs: boolean;
  /** Events of the batch that may each use the whole CPU time. After them, events get less time. */
  culpritsMax: number;
  /** CPU time after which the rest of the batch fails, if no event has succeeded until then. */
  fruitlessCpuMs: number;
  /** Budget of a test run. When it ends, events that have no outcome fail with its error. */
  budget?: TestBudget;
  /** Bytes of outputs above which the run ends early. */
  bytesMax: number;
  hostFunctions: HostFunctions;
}

/** How a guest ended. `fresh`: it had run nothing before. `shared`: it held another program too. */
type GuestLoss = { end: GuestEndCause; fresh: boolean; shared: boolean };
type RunAnswer = RunReport | { error: UserError };

/** Runs one batch in several attempts, and records the outcomes. */
export class BatchRun {
  readonly #program: Program;
  readonly #batch: ProgramBatch;
  readonly #options: BatchRunOptions;
  readonly #logs: BatchLogs;
  readonly #outcomes: (ProgramOutcome | undefined)[];
  /** Indexes of the events that have no outcome yet, in order. */
  #open: number[];
  /** Whether each attempt runs only one event. */
  #isAlone = false;
  readonly #culprits: GuestEndCause[] = [];
  /** CPU time of the guests during the batch, measured at intervals. */
  readonly #meter = { cpuMs: 0 };
  /** Whether at least one event was transformed or dropped without an error. */
  #hasGoodEvent = false;
  #bytes = 0;
  /** Attempts in a row to which the machine gave too little CPU. */
  #starvedAttempts = 0;
  /** Guests that have died since an event was last blamed for a death. */
  #losses = 0;
  /** Error of `transformBatch`, and the time until which its events may still run one by one. */
  #failure: { error: UserError; until: number } | undefined;

  constructor(program: Program, batch: ProgramBatch, options: BatchRunOptions) {
    this.#program = program;
    this.#batch = batch;
    this.#options = options;
    this.#logs = new BatchLogs(options.logs);
    this.#outcomes = new Array(batch.events.length).fill(undefined);
    this.#open = batch.events.map((_, index) => index);
  }

  /** Whether some events have no outcome yet, and there is time left to run them. */
  get hasWork(): boolean {
    if (this.#options.budget?.error || this.#isFruitless) return false;
    return this.#open.length > 0 && performance.now() < (this.#failure?.until ?? Infinity);
  }

  get #isFruitless(): boolean {
    return !this.#hasGoodEvent && this.#meter.cpuMs >= this.#options.fruitlessCpuMs;
  }

  /** Whether the outputs exceed `bytesMax` bytes, and the first event has its outcome. */
  get isFull(): boolean {
    return this.#bytes > this.#options.bytesMax && this.#outcomes[0] !== undefined;
  }

  /** Runs as many open events as fit one frame. Returns the error of code that does not load. */
  async attempt(source: GuestSource): Promise<UserError | undefined> {
    const taken = this.#isAlone ? this.#open.slice(0, 1) : firstFrameOf(this.#open, this.#batch);
    const answer = await this.#askGuest(source, taken);
    if ("error" in answer) return answer.error;
    if ("end" in answer) return this.#handleLoss(taken, answer);
    for (const [position, outcome] of answer.outcomes.entries()) {
      if (!outcome) continue;
      this.settle(taken[position]!, outcome);
      this.#bytes += heldBytes(outcome);
      if ("events" in outcome) this.#hasGoodEvent = true;
    }
    // Events that run again one at a time write their lines again.
    if (answer.stopped?.reason !== "failed") this.#logs.add(answer.logs, taken);
    if (answer.outcomes.some((outcome) => outcome !== undefined)) this.#starvedAttempts = 0;
    if (answer.stopped) this.#handleStop(taken, answer.stopped);
    this.#updateOpen();
    return undefined;
  }

  /** Sets the outcome of an event. Throws `InvariantError` when the event already has one. */
  settle(index: number, outcome: ProgramOutcome): void {
    assert(this.#outcomes[index] === undefined, "A run settles each event of its batch once");
    this.#outcomes[index] = outcome;
  }

  /** Returns the outcomes before the first event that has none. */
  finishPart(): BatchRunResult {
    const end = this.#outcomes.indexOf(undefined);
    const outcomes = end < 0 ? this.#outcomes : this.#outcomes.slice(0, end);
    return this.#result(outcomes as ProgramOutcome[]);
  }

  /** Returns the outcomes of all events. Events that have none fail with `error`. */
  finish(
    error = this.#options.budget?.error ?? this.#failure?.error ?? FRUITLESS,
  ): Omit<BatchRunResult, "error"> {
    const result = this.#result(this.#outcomes.map((outcome) => outcome ?? { error }));
    assert(
      result.outcomes.length === this.#batch.events.length,
      "A finished batch has one outcome per event",
    );
    return result;
  }

  #result(outcomes: ProgramOutcome[]): BatchRunResult {
    return {
      outcomes,
      logs: this.#logs.lines,
      bytes: this.#bytes,
      culprits: this.#culprits,
      cpuMs: this.#meter.cpuMs,
    };
  }

  async #askGuest(source: GuestSource, taken: readonly number[]): Promise<RunAnswer | GuestLoss> {
    const guest = await source.guest();
    // Code that ran in the guest before may be to blame for its end.
    const fresh = guest.eventCount === 0 && guest.programs.size === 0 && !guest.busy;
    // The cause that killed the last guest may have killed this one too while it waited; only a
    // guest that is known to live can die of this batch.
    if (this.#losses > 0 && !(await isResponsive(guest, this.#options.limits))) {
      return { end: "retired", fresh, shared: false };
    }
    const hostCalls = new HostCalls(this.#options.hostFunctions, this.#program.workspaceId);
    let number: number | UserError | undefined;
    try {
      const accounting = { hostCalls, meter: this.#meter };
      number = await loadProgram(guest, this.#program, this.#options.limits, accounting);
      if (typeof number === "object") return { error: number };
      guest.eventCount += taken.length;
      const answer = await this.#runEvents(guest, number, taken, accounting);
      if ("stopped" in answer && isInterruption(answer.stopped)) guest.softTimeouts += 1;
      return answer;
    } catch (error) {
      if (!(error instanceof GuestEndedError)) throw error;
      const isCertain = error.end !== "crash" || this.#losses > 0;
      if (number === undefined && fresh && isCertain && error.end !== "retired") {
        this.#culprits.push(error.end);
        return { error: endError(error.end) };
      }
      return { end: error.end, fresh, shared: guest.programs.size > 1 };
    } finally {
      hostCalls.abort();
    }
  }

  #runEvents(
    guest: Guest,
    program: number,
    taken: readonly number[],
    accounting: RunAccounting,
  ): Promise<RunAnswer> {
    const events = this.#textsOf(taken, this.#batch.events);
    const metadata = this.#textsOf(taken, this.#batch.metadata);
    const { limits, culpritsMax } = this.#options;
    const isShort = this.#culprits.length >= culpritsMax;
    const cpuMs = isShort ? Math.min(limits.cpuMs, GUEST_SHORT_CPU_MS_MAX) : limits.cpuMs;
    const logsMax = this.#logs.linesLeft;
    return guest.request(
      {
        kind: "run",
        program,
        count: taken.length,
        eventsBytes: jsonArrayBytes(events),
        budgetMs: cpuMs * 2 ** this.#starvedAttempts,
        cpuMs,
        logsMax,
        logsCharsMax: this.#logs.charsLeft,
      },
      [events, metadata],
      { cpuMs, wallMs: limits.wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX, ...accounting },
      (frame) => parseRunReply(frame, taken.length, logsMax),
    );
  }

  #textsOf(taken: readonly number[], texts: JsonTexts): JsonTexts {
    return taken.length === texts.length ? texts : taken.map((index) => texts[index]!);
  }

  #handleStop(taken: readonly number[], stop: RunStop): void {
    if (stop.error) {
      // The time is bounded, since each event may wait for a receiver that is down.
      const until = performance.now() + this.#options.limits.cpuMs;
      this.#failure ??= { error: stop.error, until };
      this.#isAlone = true;
      return;
    }
    if (stop.reason === "full") {
      // Open events go in the next frame, unless this frame had no outcome at all.
      if (taken.every((index) => this.#outcomes[index] === undefined)) this.#isAlone = true;
      return;
    }
    if (stop.reason === "starved") {
      this.#starvedAttempts += 1;
      if (this.#starvedAttempts < STARVED_ATTEMPTS_MAX) return;
    }
    this.#starvedAttempts = 0;
    const culprit = taken.length === 1 ? 0 : stop.culprit;
    if (culprit === undefined) this.#isAlone = true;
    else this.#blame(taken[culprit]!, "timeout");
  }

  /** Handles a guest's end. Blames an event only if it ran alone and nothing else is to blame. */
  #handleLoss(taken: readonly number[], { end, fresh, shared }: GuestLoss): undefined {
    // The host ended the guest for reasons of its own.
    if (end === "retired") return;
    this.#losses += 1;
    // A first crash may be the kernel's out-of-memory killer, so an event is blamed only for a
    // second one. Events run alone after the first death, or because `transformBatch` threw.
    const isAlone = this.#isAlone && (!this.#failure || end !== "crash" || this.#losses > 1);
    const isCertain =
      (fresh && end !== "crash") || (isAlone && (!shared || this.#losses > LOSSES_MAX));
    if (taken.length === 1 && isCertain) this.#blame(taken[0]!, end);
    this.#isAlone = true;
    this.#updateOpen();
  }

  #blame(index: number, cause: GuestEndCause): void {
    this.settle(index, { error: endError(cause) });
    this.#culprits.push(cause);
    this.#losses = 0;
  }

  #updateOpen(): void {
    this.#open = this.#open.filter((index) => this.#outcomes[index] === undefined);
  }
}

/** Memory in bytes that an output or an error takes in addition to its text. */
const OUTPUT_BYTES = 200;

function heldBytes(outcome: ProgramOutcome): number {
  if ("error" in outcome) return OUTPUT_BYTES + 2 * outcome.error.message.length;
  return outcome.events.reduce((sum, { length }) => sum + length + OUTPUT_BYTES, 0);
}

const FRUITLESS: UserError = {
  message: "Not run: the code has used all its CPU time on events that failed",
};

/** Whether the guest stopped the code in the middle, which may leave its state half changed. */
function isInterruption(stop: RunStop | undefined): boolean {
  return stop?.reason === "timeout" || stop?.reason === "starved";
}
