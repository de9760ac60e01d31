import { assert } from "../../assert.ts";
import { GUEST_CULPRITS_MAX } from "../../settings/limits.ts";
import { GUEST_ANSWER_BYTES_MAX } from "../guest-limits.ts";
import { HostCalls } from "../host-calls/host-calls.ts";
import type { Guest } from "../process/guest.ts";
import {
  endError,
  type GuestEndCause,
  GuestEndedError,
  notAwaited,
  notRun,
} from "../process/guest-end.ts";
import type { GuestSource } from "../process/guest-source.ts";
import type { Program, ProgramBatch, ProgramOutcome, UserError } from "../program.ts";
import type { LoadFailure, RunStop } from "../protocol/guest-protocol.ts";
import { parseRunReply, type RunReport } from "../protocol/reply-parser.ts";
import { AttemptBudget } from "./attempt-budget.ts";
import { BatchLogs } from "./batch-logs.ts";
import type { BatchRunOptions, BatchRunResult } from "./batch-run-options.ts";
import { bodyOf, firstFrameOf, heldBytes } from "./frame-events.ts";
import { isResponsive, loadProgram, type RunAccounting, unloadProgram } from "./load-program.ts";

/**
 * Number of guests (processes that run user code) that may die in a row before an event is blamed
 * without proof. The next death is blamed on the event that ran alone, although another program in
 * the guest may be the cause.
 */
const LOSSES_MAX = 3;
/**
 * CPU time in ms below which code that ran out of wall-clock time counts as waiting. Code that has
 * used more counts as slowed by a busy machine.
 */
const ASLEEP_CPU_MS_MAX = 50;

/**
 * How a guest ended. `fresh` is true if the guest had done no work before. `shared` is true if
 * other programs were loaded in it too.
 */
type GuestLoss = { end: GuestEndCause; fresh: boolean; shared: boolean };
type RunAnswer = RunReport | LoadFailure;

/** Runs a batch through a program in one or more attempts, and records each event's outcome. */
export class BatchRun {
  /** Whether an attempt ran out of time, or its guest died without being retired by the server. */
  hasCostGuest = false;
  readonly #logs: BatchLogs;
  readonly #budget: AttemptBudget;
  readonly #outcomes: (ProgramOutcome | undefined)[];
  /** The events without an outcome so far, as ascending indexes into the batch. */
  #open: number[];
  /** Whether each attempt runs only one event, to find the event that is to blame for a failure. */
  #isAlone = false;
  /** Index of the event that is suspected of a timeout. The next attempt runs only this event. */
  #suspect: number | undefined;
  readonly #culprits: GuestEndCause[] = [];
  readonly #meter = { cpuMs: 0 };
  /** CPU time in ms that the batch had used before its current program load or run of events. */
  #usedBeforeMs = 0;
  /** Number of runs and program loads that ran out of wall-clock time but not of CPU time. */
  #doubtful = 0;
  #bytes = 0;
  /** Number of guest processes that have died since an event was last blamed for a failure. */
  #losses = 0;
  #loadError: UserError | undefined;
  /**
   * Error that `transformBatch` threw. The events then run one by one until the time `until` (by
   * `performance.now()`). Events without an outcome at that time fail with this error.
   */
  #failure: { error: UserError; until: number } | undefined;

  constructor(
    private readonly program: Program,
    private readonly batch: ProgramBatch,
    private readonly options: BatchRunOptions,
  ) {
    this.#logs = new BatchLogs(options.logs);
    this.#budget = new AttemptBudget(options.limits, options.culpritsMax);
    this.#outcomes = new Array(batch.events.length).fill(undefined);
    this.#open = batch.events.map((_, index) => index);
  }

  /** Whether the run has ended: all events have outcomes, or those without one will not run. */
  get isDone(): boolean {
    if (this.#loadError || this.#isFull || this.#refusal) return true;
    return this.#open.length === 0 || performance.now() >= (this.#failure?.until ?? Infinity);
  }

  /** Whether the outputs exceed `bytesMax` bytes, and the first event has its outcome. */
  get #isFull(): boolean {
    return this.#bytes > this.options.bytesMax && this.#outcomes[0] !== undefined;
  }

  /** Error for the events without an outcome if the batch must stop early; otherwise undefined. */
  get #refusal(): UserError | undefined {
    const { isAwaited, costlyUntil = Infinity } = this.batch;
    if (isAwaited?.() === false) return notAwaited;
    const count = this.#culprits.length + this.#doubtful;
    const isCostly = count >= GUEST_CULPRITS_MAX && performance.now() >= costlyUntil;
    const { budget, trial } = this.options;
    return budget?.error ?? trial?.suspended() ?? (isCostly ? notRun(count) : undefined);
  }

  /** Runs one attempt: one event, or as many events without an outcome as fit one frame. */
  async attempt(source: GuestSource): Promise<void> {
    const taken = this.#nextEvents();
    const answer = await this.#askGuest(source, taken);
    if ("error" in answer) this.#handleLoadFailure(answer);
    else if ("end" in answer) this.#handleLoss(taken, answer);
    else this.#handleReport(taken, answer);
    if (this.#suspect !== undefined && this.#outcomes[this.#suspect]) this.#suspect = undefined;
    this.#open = this.#open.filter((index) => this.#outcomes[index] === undefined);
  }

  #handleReport(taken: readonly number[], answer: RunReport): void {
    if (answer.outcomes.some((outcome) => outcome && "events" in outcome)) {
      this.options.trial?.noteSuccess();
    }
    for (const [position, outcome] of answer.outcomes.entries()) {
      if (!outcome) continue;
      this.settle(taken[position]!, outcome);
      this.#bytes += heldBytes(outcome);
    }
    // Events that run again one at a time write their lines again.
    if (answer.stopped?.reason !== "failed") this.#logs.add(answer.logs, taken);
    if (answer.stopped) this.#handleStop(taken, answer.stopped);
  }

  #nextEvents(): readonly number[] {
    if (this.#suspect !== undefined) return [this.#suspect];
    // The last event is tried: neighboring events are often alike, and may all end the guest.
    if (this.options.trial?.isLastTry()) return this.#open.slice(-1);
    return this.#isAlone ? this.#open.slice(0, 1) : firstFrameOf(this.#open, this.batch);
  }

  /** Sets the outcome of an event. Throws `InvariantError` when the event already has one. */
  settle(index: number, outcome: ProgramOutcome): void {
    assert(this.#outcomes[index] === undefined, "A run settles each event of its batch once");
    this.#outcomes[index] = outcome;
  }

  /**
   * Returns the result of a batch that is done. Events without an outcome get the batch's error. If
   * the outputs are too large, the result instead ends before the first event without an outcome.
   */
  finish(): BatchRunResult {
    const error = this.#loadError ?? this.#refusal ?? this.#failure?.error;
    const end = this.#outcomes.indexOf(undefined);
    const isPart = end >= 0 && this.#isFull;
    const all = isPart ? this.#outcomes.slice(0, end) : this.#outcomes;
    return {
      outcomes: all.map((outcome) => {
        if (outcome) return outcome;
        assert(error !== undefined, "A batch without an error has run all its events");
        return { error };
      }),
      logs: this.#logs.lines,
      bytes: this.#bytes,
      culprits: this.#culprits,
      cpuMs: this.#meter.cpuMs,
      isDoubtful: this.#doubtful > 0,
      ...(this.#loadError && { error: this.#loadError }),
    };
  }

  async #askGuest(source: GuestSource, taken: readonly number[]): Promise<RunAnswer | GuestLoss> {
    const guest = await source.guest();
    // Code that ran in the guest before may be to blame for its end.
    const fresh = guest.eventCount === 0 && guest.programs.size === 0 && !guest.busy;
    // The cause that killed the last guest may have killed this one too while it waited; only a
    // guest that is known to live can die of this batch.
    if (this.#losses > 0 && !(await isResponsive(guest, this.options.limits))) {
      return { end: "retired", fresh, shared: false };
    }
    const hostCalls = new HostCalls(this.options.hostFunctions, this.program.workspaceId);
    let number: number | LoadFailure | undefined;
    this.#budget.beginLoad();
    this.#usedBeforeMs = this.#meter.cpuMs;
    try {
      const { limits } = this.options;
      const accounting = { hostCalls, meter: this.#meter };
      number = await loadProgram(guest, this.program, limits, this.#budget, accounting);
      if (typeof number === "object") return number;
      const isSuspect = this.options.trial?.isSuspect() ?? false;
      this.#budget.begin(this.#culprits.length, guest.eventCount > 0, isSuspect);
      this.#usedBeforeMs = this.#meter.cpuMs;
      guest.eventCount += taken.length;
      const answer = await this.#runEvents(guest, number, taken, accounting);
      const isTimeout = "stopped" in answer && answer.stopped?.reason === "timeout";
      if (isTimeout) guest.softTimeouts += 1;
      if (isTimeout || "error" in answer) unloadProgram(guest, this.program, number);
      return answer;
    } catch (error) {
      if (!(error instanceof GuestEndedError)) throw error;
      const isCertain = error.end !== "crash" || this.#losses > 0;
      if (number === undefined && fresh && isCertain && error.end !== "retired") {
        if (this.#isStarved(error.end)) this.#doubtful += 1;
        else this.#culprits.push(error.end);
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
    const { sizes, body } = bodyOf(taken, this.batch);
    const { cpuMs, clockMs, killMs } = this.#budget;
    const { wallMs } = this.options.limits;
    const { linesLeft: logsMax, charsLeft: logsCharsMax } = this.#logs;
    const budgets = { budgetMs: clockMs, cpuMs, logsMax, logsCharsMax };
    return guest.request(
      { kind: "run", program, ...sizes, ...budgets },
      body,
      { cpuMs: killMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX, ...accounting },
      (frame) => parseRunReply(frame, taken.length, logsMax),
    );
  }

  /** Lets the next attempt load again if the machine was too busy. Otherwise fails the batch. */
  #handleLoadFailure(failure: LoadFailure): void {
    if (this.#budget.mustLoadAgain(failure)) {
      this.hasCostGuest = true;
      return;
    }
    this.#loadError = failure.error;
    if (!this.#budget.isProof(failure.usedMs ?? Infinity)) this.#doubtful += 1;
  }

  #handleStop(taken: readonly number[], stop: RunStop): void {
    if (stop.error) {
      // The time is bounded, since each event may wait for a receiver that is down.
      const until = performance.now() + this.options.limits.cpuMs;
      this.#failure ??= { error: stop.error, until };
      this.#isAlone = true;
      return;
    }
    if (stop.reason === "full") {
      // Open events go in the next frame, unless this frame had no outcome at all.
      if (taken.every((index) => this.#outcomes[index] === undefined)) this.#isAlone = true;
      return;
    }
    this.#handleTimeout(taken, stop);
  }

  /**
   * Handles a timeout. Blames the running event if it has used up its time (see `isUsedUp`).
   * Otherwise the next attempt runs it alone. If the event is unknown, each event runs alone.
   */
  #handleTimeout(taken: readonly number[], { culprit, culpritMs }: RunStop): void {
    this.hasCostGuest = true;
    const suspect = taken.length === 1 ? taken[0] : taken[culprit ?? -1];
    const isFirst =
      suspect === taken[0] && taken.every((index) => this.#outcomes[index] === undefined);
    const usedMs = culpritMs ?? (isFirst ? this.#budget.cpuMs : 0);
    if (suspect !== undefined && this.#budget.isUsedUp(usedMs, isFirst)) {
      this.#blame(suspect, "timeout", this.#budget.isProof(usedMs));
    } else {
      this.#suspect = suspect;
      if (suspect === undefined) this.#isAlone = true;
    }
  }

  /** Handles the end of a guest process. Blames an event only if it ran alone in the attempt. */
  #handleLoss(taken: readonly number[], { end, fresh, shared }: GuestLoss): void {
    // The host ended the guest for reasons of its own.
    if (end === "retired") return;
    this.hasCostGuest = true;
    this.#losses += 1;
    // A first crash may be the kernel's out-of-memory killer, so an event is blamed only for a
    // second one. Events run alone after the first death, or because `transformBatch` threw.
    const ranAlone = this.#isAlone || this.#suspect !== undefined;
    const isAlone = ranAlone && (!this.#failure || end !== "crash" || this.#losses > 1);
    const isCertain =
      (fresh && end !== "crash") || (isAlone && (!shared || this.#losses > LOSSES_MAX));
    if (taken.length === 1 && isCertain) this.#blame(taken[0]!, end, !this.#isStarved(end));
    this.#isAlone = true;
  }

  /** Whether the attempt's guest ran out of wall-clock time because it got too little CPU time. */
  #isStarved(end: GuestEndCause): boolean {
    const usedMs = this.#meter.cpuMs - this.#usedBeforeMs;
    return end === "timeout" && usedMs >= ASLEEP_CPU_MS_MAX && !this.#budget.isProof(usedMs);
  }

  #blame(index: number, cause: GuestEndCause, isProven: boolean): void {
    const error = endError(cause);
    this.settle(index, { error });
    this.#losses = 0;
    if (isProven) {
      this.#culprits.push(cause);
      this.options.trial?.noteCulprit(error.message);
    } else this.#doubtful += 1;
  }
}
