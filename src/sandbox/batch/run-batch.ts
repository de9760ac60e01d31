import {
  GUEST_LOGS_CHARS_MAX,
  GUEST_LOGS_MAX,
  GUEST_MEMORY_BYTES_MAX,
  GUEST_SHORT_CPU_MS_MAX,
} from "../../settings/limits.ts";
import { GUEST_ANSWER_BYTES_MAX } from "../guest-limits.ts";
import { HostCalls } from "../host-calls/host-calls.ts";
import type { HostFunctions } from "../host-calls/host-functions.ts";
import type { SandboxLimits } from "../limits.ts";
import type { Guest } from "../process/guest.ts";
import { type GuestEndCause, GuestEndedError } from "../process/guest-end.ts";
import type { LogLine, Program, ProgramBatch, ProgramOutcome, UserError } from "../program.ts";
import { type JsonTexts, jsonArrayBytes } from "../protocol/guest-frames.ts";
import type { RunStop } from "../protocol/guest-protocol.ts";
import { parseRunReply, type RunReport } from "../protocol/reply-parser.ts";
import type { GuestSource } from "../scheduling/workspace-guest.ts";
import type { TestBudget } from "../test-budget.ts";
import { isResponsive, loadProgram, type RunAccounting } from "./load-program.ts";

/** Events of one frame to a guest; a larger batch goes in several frames. */
const GUEST_INPUT_EVENTS_MAX = 500;
/** Bytes of events of one frame to a guest, metadata included. */
export const GUEST_INPUT_BYTES_MAX = 4 << 20;

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
  /** What ended each guest, or used up its time, for an event or a load. */
  culprits: readonly GuestEndCause[];
  /** CPU time that the batch took, as far as was seen. */
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
  outside: HostFunctions;
}

/**
 * Runs a batch, again and again until every event has an outcome.
 * 1. When a guest times out and names the event it was running, that event fails, and the rest run
 *    again.
 * 2. When a guest times out or dies without a known culprit, the remaining events run one at a
 *    time, each in a guest that no other program has touched; an event fails only if it ends a
 *    guest on its own.
 * 3. When `transformBatch` itself throws, its events also run one at a time, within the CPU time of
 *    one batch; those that are left then fail with the batch's error.
 */
export async function runBatch(
  source: GuestSource,
  program: Program,
  batch: ProgramBatch,
  terms: BatchRunOptions,
): Promise<BatchRunResult> {
  const run = new BatchRun(program, batch, terms);
  while (run.open) {
    const error = await run.attempt(source);
    if (error) return { error, ...run.end(error) };
    if (run.full) return run.beginning();
  }
  return run.end();
}

/** `fresh`: the guest had run nothing else; `shared`: another program was loaded in it. */
type GuestLoss = { end: GuestEndCause; fresh: boolean; shared: boolean };
type RunAnswer = RunReport | { error: UserError };

class BatchRun {
  readonly logs: LogLine[] = [];
  readonly #program: Program;
  readonly #batch: ProgramBatch;
  readonly #terms: BatchRunOptions;
  readonly #outcomes: (ProgramOutcome | undefined)[];
  /** Indexes of the events without an outcome, in order. */
  #open: number[];
  #alone = false;
  readonly #culprits: GuestEndCause[] = [];
  /** CPU time of all guests of the batch, as far as was looked at. */
  readonly #meter = { cpuMs: 0 };
  /** Whether an event has come through. */
  #good = false;
  #bytes = 0;
  #logsChars = 0;
  #starved = 0;
  /** Guests lost since the last culprit was found. */
  #losses = 0;
  /** What `transformBatch` failed with, and how long its events may run alone. */
  #failure: { error: UserError; until: number } | undefined;

  constructor(program: Program, batch: ProgramBatch, terms: BatchRunOptions) {
    this.#program = program;
    this.#batch = batch;
    this.#terms = terms;
    this.#outcomes = new Array(batch.events.length).fill(undefined);
    this.#open = batch.events.map((_, index) => index);
  }

  /** Events are left to run, and there is time for them. */
  get open(): boolean {
    if (this.#terms.budget?.error || this.#isFruitless) return false;
    return this.#open.length > 0 && performance.now() < (this.#failure?.until ?? Infinity);
  }

  get #isFruitless(): boolean {
    return !this.#good && this.#meter.cpuMs >= this.#terms.fruitlessCpuMs;
  }

  /** Whether there are more outputs than may be held, and the first event has its outcome. */
  get full(): boolean {
    return this.#bytes > this.#terms.bytesMax && this.#outcomes[0] !== undefined;
  }

  /** Runs as many events as may go together. Returns the error of a program that does not load. */
  async attempt(source: GuestSource): Promise<UserError | undefined> {
    const taken = this.#take();
    const answer = await this.#ask(source, taken);
    if ("error" in answer) return answer.error;
    if ("end" in answer) return this.#lost(taken, answer);
    for (const [place, outcome] of answer.outcomes.entries()) {
      this.#outcomes[taken[place]!] = outcome;
      if (outcome) this.#bytes += heldBytes(outcome);
      if (outcome && "events" in outcome) this.#good = true;
    }
    // Events that run once more, each alone, log once more.
    if (answer.stopped?.reason !== "failed") this.#keepLogs(answer.logs, taken);
    if (answer.outcomes.some((outcome) => outcome !== undefined)) this.#starved = 0;
    if (answer.stopped) this.#stopped(taken, answer.stopped);
    this.#open = this.#open.filter((index) => this.#outcomes[index] === undefined);
    return undefined;
  }

  /** Outcomes up to the first event that has none. */
  beginning(): BatchRunResult {
    const end = this.#outcomes.indexOf(undefined);
    const outcomes = (end < 0 ? this.#outcomes : this.#outcomes.slice(0, end)) as ProgramOutcome[];
    const { cpuMs } = this.#meter;
    return { outcomes, logs: this.logs, bytes: this.#bytes, culprits: this.#culprits, cpuMs };
  }

  /** All outcomes; those that are missing fail with `error`. */
  end(
    error = this.#terms.budget?.error ?? this.#failure?.error ?? FRUITLESS,
  ): Omit<BatchRunResult, "error"> {
    const outcomes = this.#outcomes.map((outcome) => outcome ?? { error });
    const { cpuMs } = this.#meter;
    return { outcomes, logs: this.logs, bytes: this.#bytes, culprits: this.#culprits, cpuMs };
  }

  #keepLogs(lines: readonly LogLine[], taken: readonly number[]): void {
    for (const line of lines) {
      this.#logsChars += line.text.length;
      if (this.#logsChars > GUEST_LOGS_CHARS_MAX) return;
      // When one event ran alone, all lines are its own.
      const event = taken.length === 1 ? taken[0] : taken[line.event ?? -1];
      this.logs.push(event === undefined ? line : { ...line, event });
    }
  }

  /** One event, or as many as a frame may hold. */
  #take(): number[] {
    if (this.#alone) return this.#open.slice(0, 1);
    let bytes = 0;
    const end = this.#open.findIndex((index, place) => {
      if (place === GUEST_INPUT_EVENTS_MAX) return true;
      bytes += this.#batch.events[index]!.length + this.#batch.metadata[index]!.length;
      return bytes > GUEST_INPUT_BYTES_MAX;
    });
    return end < 0 ? this.#open : this.#open.slice(0, Math.max(1, end));
  }

  async #ask(source: GuestSource, taken: readonly number[]): Promise<RunAnswer | GuestLoss> {
    const guest = await source.guest();
    // What ran in the guest before may be to blame for its end.
    const fresh = guest.eventCount === 0 && guest.programs.size === 0 && !guest.busy;
    // Whatever killed the last guest may have killed this one too while it waited; only a guest
    // that is known to live can die of this batch.
    if (this.#losses > 0 && !(await isResponsive(guest, this.#terms.limits))) {
      return { end: "retired", fresh, shared: false };
    }
    const calls = new HostCalls(this.#terms.outside, this.#program.workspaceId);
    let number: number | UserError | undefined;
    try {
      const during = { calls, meter: this.#meter };
      number = await loadProgram(guest, this.#program, this.#terms.limits, during);
      if (typeof number === "object") return { error: number };
      guest.eventCount += taken.length;
      const answer = await this.#run(guest, number, taken, during);
      if ("stopped" in answer && wasInterrupted(answer.stopped)) guest.softTimeouts += 1;
      return answer;
    } catch (error) {
      if (!(error instanceof GuestEndedError)) throw error;
      const certain = error.end !== "crash" || this.#losses > 0;
      if (number === undefined && fresh && certain && error.end !== "retired") {
        this.#culprits.push(error.end);
        return { error: endError(error.end) };
      }
      return { end: error.end, fresh, shared: guest.programs.size > 1 };
    } finally {
      calls.abort();
    }
  }

  #run(
    guest: Guest,
    number: number,
    taken: readonly number[],
    during: RunAccounting,
  ): Promise<RunAnswer> {
    const events = this.#texts(taken, this.#batch.events);
    const { limits, logs } = this.#terms;
    const cpuMs =
      this.#culprits.length < this.#terms.culpritsMax
        ? limits.cpuMs
        : Math.min(limits.cpuMs, GUEST_SHORT_CPU_MS_MAX);
    const budgetMs = cpuMs * 2 ** this.#starved;
    const logsMax = logs ? GUEST_LOGS_MAX - this.logs.length : 0;
    return guest.request(
      {
        kind: "run",
        program: number,
        count: taken.length,
        eventsBytes: jsonArrayBytes(events),
        budgetMs,
        cpuMs,
        logsMax,
        logsCharsMax: Math.max(0, GUEST_LOGS_CHARS_MAX - this.#logsChars),
      },
      [events, this.#texts(taken, this.#batch.metadata)],
      { cpuMs, wallMs: limits.wallMs, replyBytesMax: GUEST_ANSWER_BYTES_MAX, ...during },
      (frame) => parseRunReply(frame, taken.length, logsMax),
    );
  }

  #texts(taken: readonly number[], texts: JsonTexts): JsonTexts {
    return taken.length === texts.length ? texts : taken.map((index) => texts[index]!);
  }

  #stopped(taken: readonly number[], stop: RunStop): void {
    const alone = taken.length === 1;
    if (stop.error) {
      // The time is bounded, since each event may wait for a receiver that is down.
      this.#failure ??= { error: stop.error, until: performance.now() + this.#terms.limits.cpuMs };
      this.#alone = true;
      return;
    }
    if (stop.reason === "full") {
      // Open events go in the next frame, unless this frame had no outcome at all.
      if (taken.every((index) => this.#outcomes[index] === undefined)) this.#alone = true;
      return;
    }
    if (stop.reason === "starved") {
      this.#starved += 1;
      if (this.#starved < STARVED_ATTEMPTS_MAX) return;
    }
    this.#starved = 0;
    const culprit = alone ? 0 : stop.culprit;
    if (culprit === undefined) this.#alone = true;
    else this.#blame(taken[culprit]!, "timeout");
  }

  /** The guest died. Only an event that ran alone, in a guest of its own, is to blame. */
  #lost(taken: readonly number[], { end, fresh, shared }: GuestLoss): undefined {
    // The host ended the guest for reasons of its own.
    if (end === "retired") return;
    this.#losses += 1;
    // A first crash may be the kernel's out-of-memory killer, so an event is blamed only for a
    // second one. Events run alone after the first death, or because `transformBatch` threw.
    const alone = this.#alone && (!this.#failure || end !== "crash" || this.#losses > 1);
    const sure = (fresh && end !== "crash") || (alone && (!shared || this.#losses > LOSSES_MAX));
    if (taken.length === 1 && sure) this.#blame(taken[0]!, end);
    this.#alone = true;
    this.#open = this.#open.filter((index) => this.#outcomes[index] === undefined);
  }

  #blame(index: number, cause: GuestEndCause): void {
    this.#outcomes[index] = { error: endError(cause) };
    this.#culprits.push(cause);
    this.#losses = 0;
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

const MEMORY_MIB_MAX = GUEST_MEMORY_BYTES_MAX / (1 << 20);

const BROKE_OUT = "Script broke into its guest and was stopped";

const endMessages: Readonly<Record<GuestEndCause, string>> = {
  timeout: "Script execution timed out.",
  memory: `Script was stopped at its memory limit of ${MEMORY_MIB_MAX} MiB`,
  crash: "Script crashed its guest, most likely at its memory limit",
  overflow: "Script crashed its guest: its calls or its data are nested too deep",
  violation: BROKE_OUT,
  threads: BROKE_OUT,
  idle: BROKE_OUT,
  stderr: BROKE_OUT,
  retired: "Guest was stopped",
};

/** Whether the guest had to stop the code in the middle, which may leave its state half changed. */
function wasInterrupted(stop: RunStop | undefined): boolean {
  return stop?.reason === "timeout" || stop?.reason === "starved";
}

/** Whether a guest ends in this way only when code has broken into it. */
export function isBreach(end: GuestEndCause): boolean {
  return endMessages[end] === BROKE_OUT;
}

export function endError(end: GuestEndCause): UserError {
  return { message: endMessages[end] };
}
