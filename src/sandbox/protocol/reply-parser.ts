import { isUtf8 } from "node:buffer";
import { loadText, scanned, skipValue } from "../../json/json-scanner.ts";
import {
  GUEST_ERROR_CHARS_MAX,
  GUEST_IMPORTS_MAX,
  GUEST_LOG_CHARS_MAX,
  GUEST_OUTPUT_LEVELS_MAX,
  GUEST_OUTPUTS_MAX,
} from "../../settings/limits.ts";
import { GUEST_ANSWER_OUTPUTS_MAX } from "../guest-limits.ts";
import type { LogLine, ProgramOutcome, UserError } from "../program.ts";
import { type GuestFrame, GuestFrameError, headerField, NEWLINE } from "./guest-frames.ts";
import { FAILED, type LoadFailure, OPEN, type RunStop } from "./guest-protocol.ts";
import { printable } from "./printable.ts";

// Parses the replies of guests. User code may control its guest: every field is checked, and an
// unexpected one throws `GuestFrameError`.

type Fields = Record<string, unknown>;

const OPENING_BRACE = 123;
const tooDeep = { message: `Output is nested more than ${GUEST_OUTPUT_LEVELS_MAX} levels deep` };

export interface RunReport {
  /** Outcome of each event; undefined for an event that has to run again. */
  outcomes: (ProgramOutcome | undefined)[];
  logs: LogLine[];
  stopped?: RunStop;
}

export interface StartReport {
  ready: boolean;
  /**
   * The part of the confinement that the guest process lacks; absent when the confinement is
   * complete.
   */
  reason?: string;
}

export function parseStartReply(frame: GuestFrame): StartReport {
  const { kind, reason } = fields(frame.header);
  if (kind !== "ready" && kind !== "unconfined") throw new GuestFrameError("Expected ready");
  const ready = kind === "ready";
  return reason === undefined ? { ready } : { ready, reason: text(reason, GUEST_ERROR_CHARS_MAX) };
}

/**
 * Whether a frame (message) reports that the guest process has overflowed its stack. The guest
 * process sends no frame after such a frame.
 */
export function isStackOverflow(frame: GuestFrame): boolean {
  return headerField(frame, "kind") === "overflowed";
}

/** Parses the reply to a request to load code. Returns undefined when the code was loaded. */
export function parseLoadReply(frame: GuestFrame): LoadFailure | undefined {
  const { kind, error, usedMs } = fields(frame.header);
  if (kind !== "loaded") throw new GuestFrameError("Expected loaded");
  if (error === undefined) return undefined;
  const failure: LoadFailure = { error: userError(error) };
  if (usedMs !== undefined) failure.usedMs = whole(usedMs);
  return failure;
}

export function parseInspectReply(frame: GuestFrame): { imports: string[]; error?: UserError } {
  const { kind, imports, error } = fields(frame.header);
  if (kind !== "inspected") throw new GuestFrameError("Expected inspected");
  if (array(imports).length > GUEST_IMPORTS_MAX)
    throw new GuestFrameError("Expected fewer imports");
  const names = array(imports).map((name) => text(name, GUEST_ERROR_CHARS_MAX));
  return error === undefined ? { imports: names } : { imports: names, error: userError(error) };
}

/**
 * Parses the reply to a request to run `count` events with at most `logsMax` lines of `log(...)`.
 * Returns a `LoadFailure` if the guest process had to reload the program and could not. Throws
 * `GuestFrameError` if the reply is invalid.
 */
export function parseRunReply(
  frame: GuestFrame,
  count: number,
  logsMax: number,
): RunReport | LoadFailure {
  const header = fields(frame.header);
  if (header.kind === "loaded") {
    const failure = parseLoadReply(frame);
    if (!failure) throw new GuestFrameError("Expected an error");
    return failure;
  }
  if (header.kind !== "ran") throw new GuestFrameError("Expected ran");
  const counts = array(header.counts);
  if (counts.length !== count) throw new GuestFrameError("Expected one count per event");
  if (array(header.errors).length > count) throw new GuestFrameError("Expected fewer errors");
  const errors = array(header.errors).map(userError);
  const outputs = new Outputs(frame.body);
  const outcomes = counts.map((outputCount): ProgramOutcome | undefined => {
    if (outputCount === OPEN) return undefined;
    if (outputCount !== FAILED) return outputs.take(whole(outputCount));
    const error = errors.shift();
    if (!error) throw new GuestFrameError("Expected an error per failed event");
    return { error };
  });
  if (errors.length > 0 || !outputs.done)
    throw new GuestFrameError("Expected as many errors and outputs as announced");
  const logs = array(header.logs);
  if (logs.length > logsMax) throw new GuestFrameError("Expected fewer logs");
  const ran = { outcomes, logs: logs.map((line) => logLine(line, count)) };
  const stopped = outcomes.includes(undefined) ? readStop(header.stopped, outcomes) : undefined;
  return stopped ? { ...ran, stopped } : ran;
}

function readStop(value: unknown, outcomes: readonly unknown[]): RunStop {
  const { reason, culprit, culpritMs, error } = fields(value);
  if (reason === "failed" || reason === "full") {
    if (outcomes.length === 1) throw new GuestFrameError("Expected an outcome");
    return reason === "full" ? { reason } : { reason, error: userError(error) };
  }
  if (reason !== "timeout") throw new GuestFrameError("Expected a reason");
  const stop: RunStop = { reason };
  if (culpritMs !== undefined) stop.culpritMs = whole(culpritMs);
  if (culprit === undefined) return stop;
  const index = whole(culprit);
  if (index >= outcomes.length || outcomes[index])
    throw new GuestFrameError("Expected an open event");
  stop.culprit = index;
  return stop;
}

/**
 * Reads the output events in the body of a reply, one JSON object per line. The bytes are kept
 * unchanged: a destination gets exactly the bytes that the guest process wrote.
 */
class Outputs {
  /** Copy of the body in the memory of the JSON scanner. */
  readonly #scannable: Buffer;
  #offset = 0;
  #count = 0;

  constructor(private readonly body: Buffer) {
    if (!isUtf8(body)) throw new GuestFrameError("Expected UTF-8");
    this.#scannable = loadText(body);
  }

  get done(): boolean {
    return this.#offset >= this.body.length;
  }

  take(count: number): ProgramOutcome {
    this.#count += count;
    if (count > GUEST_OUTPUTS_MAX || this.#count > GUEST_ANSWER_OUTPUTS_MAX) {
      throw new GuestFrameError("Expected fewer outputs");
    }
    const events: Uint8Array[] = [];
    let error: UserError | undefined;
    for (let taken = 0; taken < count; taken += 1) {
      if (this.body[this.#offset] !== OPENING_BRACE)
        throw new GuestFrameError("Expected an object");
      const end = this.#lineEnd();
      scanned.levels = 0;
      if (skipValue(this.#scannable, this.#offset) !== end) {
        throw new GuestFrameError("Expected a line of JSON per output");
      }
      if (scanned.levels > GUEST_OUTPUT_LEVELS_MAX) error = tooDeep;
      else events.push(this.body.subarray(this.#offset, end));
      this.#offset = end + 1;
    }
    return error ? { error } : { events };
  }

  #lineEnd(): number {
    const newline = this.body.indexOf(NEWLINE, this.#offset);
    return newline < 0 ? this.body.length : newline;
  }
}

function userError(value: unknown): UserError {
  const { message, line, column, library } = fields(value);
  const error: UserError = { message: text(message, GUEST_ERROR_CHARS_MAX) };
  if (line !== undefined) error.line = whole(line);
  if (column !== undefined) error.column = whole(column);
  if (library !== undefined) error.library = text(library, GUEST_ERROR_CHARS_MAX);
  return error;
}

function logLine(value: unknown, count: number): LogLine {
  const { text: said, event, line, library } = fields(value);
  const read: LogLine = { text: text(said, GUEST_LOG_CHARS_MAX) };
  if (event !== undefined) {
    read.event = whole(event);
    if (read.event >= count) throw new GuestFrameError("Expected an event of the batch");
  }
  if (line !== undefined) read.line = whole(line);
  if (library !== undefined) read.library = text(library, GUEST_ERROR_CHARS_MAX);
  return read;
}

function fields(value: unknown): Fields {
  if (typeof value === "object" && value !== null) return value as Fields;
  throw new GuestFrameError("Expected an object");
}

function array(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw new GuestFrameError("Expected an array");
}

function text(value: unknown, charsMax: number): string {
  if (typeof value === "string" && value.length <= charsMax) return printable(value);
  throw new GuestFrameError("Expected a text");
}

function whole(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new GuestFrameError("Expected a whole number");
}
