import { assert } from "../../assert.ts";
import { GUEST_ANSWER_BYTES_MAX } from "../guest-limits.ts";
import { HostCalls } from "../host-calls/host-calls.ts";
import type { HostFunctions } from "../host-calls/host-functions.ts";
import type { SandboxLimits } from "../limits.ts";
import type { Guest } from "../process/guest.ts";
import { type GuestEndCause, GuestEndedError } from "../process/guest-end.ts";
import type { GuestSource } from "../process/guest-source.ts";
import type { LogLine, Program, ProgramBatch, ProgramOutcome, UserError } from "../program.ts";
import { type JsonTexts, jsonArrayBytes } from "../protocol/guest-frames.ts";
import type { RunStop } from "../protocol/guest-protocol.ts";
import { parseRunReply, type RunReport } from "../protocol/reply-parser.ts";
import type { TestBudget } from "../test-budget.ts";
import { AttemptBudget } from "./attempt-budget.ts";
import { BatchLogs } from "./batch-logs.ts";
import { endError } from "./end-errors.ts";
import { firstFrameOf } from "./frame-events.ts";
import { isResponsive, loadProgram, type RunAccounting, unloadProgram } from "./load-program.ts";

/**
 * An event that runs alone is blamed for its guest's death, although another program was loaded in
 * the guest, once more than this number of guests have died in a row.
 */
const LOSSES_MAX = 3;

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
  /**
   * Events of the batch that may each use the whole CPU time. Once as many have, each further event
   * gets a short CPU time of its own.
   */
  culpritsMax: number;
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
  /** Whether the batch has used up the time of a guest or ended it. */
  hasCostGuest = false;
  readonly #program: Program;
  readonly #batch: ProgramBatch;
  readonly #options: BatchRunOptions;
  readonly #logs: BatchLogs;
  readonly #budget: AttemptBudget;
  readonly #outcomes: (ProgramOutcome | undefined)[];
  /** Indexes of the events that have no outcome yet, in order. */
  #open: number[];
  /** Whether each attempt runs only one event. */
  #isAlone = false;
  /** Index of the event that the next attempt runs alone, since it may have used up the time. */
  #suspect: number | undefined;
  readonly #culprits: GuestEndCause[] = [];
  /** CPU time of the guests during the batch, measured at intervals. */
  readonly #meter = { cpuMs: 0 };
  #bytes = 0;
  /** Guests that have died since an event was last blamed for a death. */
  #losses = 0;
  #loadError: UserError | undefined;
  /** Error of `transformBatch`, and the time until which its events may still run one by one. */
  #failure: { error: UserError; until: number } | undefined;

  constructor(program: Program, batch: ProgramBatch, options: BatchRunOptions) {
    this.#program = program;
    this.#batch = batch;
    this.#options = options;
    this.#logs = new BatchLogs(options.logs);
    this.#budget = new AttemptBudget(options.limits, options.culpritsMax);
    this.#outcomes = new Array(batch.events.length).fill(undefined);
    this.#open = batch.events.map((_, index) => index);
  }

  /** Whether the batch needs no further attempt. */
  get isDone(): boolean {
    if (this.#loadError || this.#options.budget?.error || this.#isFull) return true;
    return this.#open.length === 0 || performance.now() >= (this.#failure?.until ?? Infinity);
  }

  /** Whether the outputs exceed `bytesMax` bytes, and the first event has its outcome. */
  get #isFull(): boolean {
    return this.#bytes > this.#options.bytesMax && this.#outcomes[0] !== undefined;
  }

  /** Runs as many open events as fit one frame. */
  async attempt(source: GuestSource): Promise<void> {
    const taken = this.#nextEvents();
    const answer = await this.#askGuest(source, taken);
    if ("error" in answer) this.#loadError = answer.error;
    else if ("end" in answer) this.#handleLoss(taken, answer);
    else this.#handleReport(taken, answer);
    if (this.#suspect !== undefined && this.#outcomes[this.#suspect]) this.#suspect = undefined;
    this.#open = this.#open.filter((index) => this.#outcomes[index] === undefined);
  }

  #handleReport(taken: readonly number[], answer: RunReport): void {
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
    return this.#isAlone ? this.#open.slice(0, 1) : firstFrameOf(this.#open, this.#batch);
  }

  /** Sets the outcome of an event. Throws `InvariantError` when the event already has one. */
  settle(index: number, outcome: ProgramOutcome): void {
    assert(this.#outcomes[index] === undefined, "A run settles each event of its batch once");
    this.#outcomes[index] = outcome;
  }

  /**
   * Returns the result of a batch that is done. Events that have no outcome fail with the error of
   * the whole batch. When the outputs are too large, only the first events have an outcome.
   */
  finish(): BatchRunResult {
    const loadError = this.#loadError;
    const error = loadError ?? this.#options.budget?.error ?? this.#failure?.error;
    const end = this.#outcomes.indexOf(undefined);
    const isPart = end >= 0 && this.#isFull && !loadError;
    const all = isPart ? this.#outcomes.slice(0, end) : this.#outcomes;
    const result: BatchRunResult = {
      outcomes: all.map((outcome) => {
        if (outcome) return outcome;
        assert(error !== undefined, "A batch without an error has run all its events");
        return { error };
      }),
      logs: this.#logs.lines,
      bytes: this.#bytes,
      culprits: this.#culprits,
      cpuMs: this.#meter.cpuMs,
    };
    if (loadError) result.error = loadError;
    return result;
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
      this.#budget.begin(this.#culprits.length, guest.eventCount > 0);
      guest.eventCount += taken.length;
      const answer = await this.#runEvents(guest, number, taken, accounting);
      if ("stopped" in answer && answer.stopped?.reason === "timeout") {
        guest.softTimeouts += 1;
        unloadProgram(guest, this.#program, number);
      }
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
    const { cpuMs, clockMs, killMs } = this.#budget;
    const { wallMs } = this.#options.limits;
    const logsMax = this.#logs.linesLeft;
    return guest.request(
      {
        kind: "run",
        program,
        count: taken.length,
        eventsBytes: jsonArrayBytes(events),
        budgetMs: clockMs,
        cpuMs,
        logsMax,
        logsCharsMax: this.#logs.charsLeft,
      },
      [events, metadata],
      { cpuMs: killMs, wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX, ...accounting },
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
    this.#handleTimeout(taken, stop);
  }

  /**
   * Blames an event that used up the time by itself. When that is not certain, because other events
   * ran before it or the machine gave it too little CPU, the event runs alone next.
   */
  #handleTimeout(taken: readonly number[], { culprit, culpritMs }: RunStop): void {
    this.hasCostGuest = true;
    const suspect = taken.length === 1 ? taken[0] : taken[culprit ?? -1];
    const isFirst =
      suspect === taken[0] && taken.every((index) => this.#outcomes[index] === undefined);
    const usedMs = culpritMs ?? (isFirst ? this.#budget.cpuMs : 0);
    if (suspect !== undefined && this.#budget.isUsedUp(usedMs, isFirst)) {
      this.#blame(suspect, "timeout");
    } else {
      this.#suspect = suspect;
      if (suspect === undefined) this.#isAlone = true;
    }
  }

  /** Handles a guest's end. Blames an event only if it ran alone and nothing else is to blame. */
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
    if (taken.length === 1 && isCertain) this.#blame(taken[0]!, end);
    this.#isAlone = true;
  }

  #blame(index: number, cause: GuestEndCause): void {
    this.settle(index, { error: endError(cause) });
    this.#culprits.push(cause);
    this.#losses = 0;
  }
}

/** Memory in bytes that an output or an error takes in addition to its text. */
const OUTPUT_BYTES = 200;

function heldBytes(outcome: ProgramOutcome): number {
  if ("error" in outcome) return OUTPUT_BYTES + 2 * outcome.error.message.length;
  return outcome.events.reduce((sum, { length }) => sum + length + OUTPUT_BYTES, 0);
}
