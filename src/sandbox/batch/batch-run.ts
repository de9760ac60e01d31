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
 * An event that runs alone is blamed for its guest's death even if another program shared the
 * guest, once this many guests have died in a row.
 */
const LOSSES_MAX = 3;
/**
 * Attempts at an event for which the machine gave too little CPU; each attempt has twice the time
 * of the last.
 */
const STARVED_ATTEMPTS_MAX = 3;

export interface BatchRunResult {
  /** Set when the program did not load: no event ran. */
  error?: UserError;
  /**
   * Outcomes of all events; of the first ones alone (at least one) when the outputs are more than
   * `bytesMax`.
   */
  outcomes: ProgramOutcome[];
  logs: LogLine[];
  /** Memory of the outcomes. */
  bytes: number;
  /** Causes for which guests ended, or used up their time, because of an event or a load. */
  culprits: readonly GuestEndCause[];
  /** CPU time that the batch took, as measured by polling. */
  cpuMs: number;
}

export interface BatchRunOptions {
  limits: SandboxLimits;
  /** Whether the lines of `log(...)` are kept. */
  logs: boolean;
  /** Events of the batch that may each use up the whole CPU time. */
  culpritsMax: number;
  /** CPU time without one good event after which the rest of the batch fails. */
  fruitlessCpuMs: number;
  /** The budget of a test run: when it is over, events that are still open fail with its error. */
  budget?: TestBudget;
  /** Bytes of outputs that are held at the same time. */
  bytesMax: number;
  hostFunctions: HostFunctions;
}

/** `fresh`: the guest had run nothing else; `shared`: another program was loaded in it. */
type GuestLoss = { end: GuestEndCause; fresh: boolean; shared: boolean };
type RunAnswer = RunReport | { error: UserError };

/** The state of one batch over all its attempts. */
export class BatchRun {
  readonly #program: Program;
  readonly #batch: ProgramBatch;
  readonly #options: BatchRunOptions;
  readonly #logs: BatchLogs;
  readonly #outcomes: (ProgramOutcome | undefined)[];
  /** Indexes of the events without an outcome, in order. */
  #open: number[];
  /** Whether events run one at a time. */
  #isAlone = false;
  readonly #culprits: GuestEndCause[] = [];
  /** CPU time of all guests of the batch, as measured by polling. */
  readonly #meter = { cpuMs: 0 };
  /** Whether an event was transformed or dropped. */
  #hasGoodEvent = false;
  #bytes = 0;
  /** Attempts in a row for which the machine gave too little CPU. */
  #starvedAttempts = 0;
  /** Guests lost since the last culprit was found. */
  #losses = 0;
  /** Error of `transformBatch`, and until when its events may run alone. */
  #failure: { error: UserError; until: number } | undefined;

  constructor(program: Program, batch: ProgramBatch, options: BatchRunOptions) {
    this.#program = program;
    this.#batch = batch;
    this.#options = options;
    this.#logs = new BatchLogs(options.logs);
    this.#outcomes = new Array(batch.events.length).fill(undefined);
    this.#open = batch.events.map((_, index) => index);
  }

  /** Whether events are left to run and there is time for them. */
  get hasWork(): boolean {
    if (this.#options.budget?.error || this.#isFruitless) return false;
    return this.#open.length > 0 && performance.now() < (this.#failure?.until ?? Infinity);
  }

  get #isFruitless(): boolean {
    return !this.#hasGoodEvent && this.#meter.cpuMs >= this.#options.fruitlessCpuMs;
  }

  /** Whether there are more outputs than may be held, and the first event has its outcome. */
  get isFull(): boolean {
    return this.#bytes > this.#options.bytesMax && this.#outcomes[0] !== undefined;
  }

  /** Runs as many events as fit a frame. Returns the error of a program that does not load. */
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

  /** Gives an event its outcome, once. */
  settle(index: number, outcome: ProgramOutcome): void {
    assert(this.#outcomes[index] === undefined, "A run settles each event of its batch once");
    this.#outcomes[index] = outcome;
  }

  /** Outcomes up to the first event that has none. */
  finishPart(): BatchRunResult {
    const end = this.#outcomes.indexOf(undefined);
    const outcomes = end < 0 ? this.#outcomes : this.#outcomes.slice(0, end);
    return this.#result(outcomes as ProgramOutcome[]);
  }

  /** All outcomes; events without one fail with `error`. */
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

  /** Blames an event for its guest's death only if it ran alone, in a guest of its own. */
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

/** Bytes that an output takes beside its text, or an error takes. */
const OUTPUT_BYTES = 200;

function heldBytes(outcome: ProgramOutcome): number {
  if ("error" in outcome) return OUTPUT_BYTES + 2 * outcome.error.message.length;
  return outcome.events.reduce((sum, { length }) => sum + length + OUTPUT_BYTES, 0);
}

const FRUITLESS: UserError = {
  message: "Not run: the code has used all its CPU time on events that failed",
};

/** Whether the guest had to stop the code in the middle, which may leave its state half changed. */
function isInterruption(stop: RunStop | undefined): boolean {
  return stop?.reason === "timeout" || stop?.reason === "starved";
}
