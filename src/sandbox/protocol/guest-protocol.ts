import type { LogLine, UserError } from "../program.ts";

/**
 * What host and guest say to each other. A frame is a header, one line of JSON, and a body that
 * neither end parses on the way: events travel as the bytes they are.
 *
 * The host asks, the guest answers once, in order; the host may send its next question before it
 * has the answer to the last. Before it answers, the guest may hand over what its code asks of
 * the outside (`wait`, body: a JSON array of questions) and sleep until the host returns answers
 * (`answers`, body: a JSON array, at least one). A guest that speaks unasked, twice or in another
 * shape is killed: each question carries a random number, and what answers it the same one, so
 * that no answer can be prepared for a question that is not known yet.
 */
export interface ExchangeNumber {
  exchange: number;
}

export type GuestRequest =
  | StartRequest
  | LoadRequest
  | RunRequest
  | InspectRequest
  | LibraryRequest;

export interface HostCallResults {
  kind: "answers";
}

/** First frame of every guest: it confines itself and answers `ready` or `unconfined`. */
export interface StartRequest {
  kind: "start";
  /** Whether to serve although the confinement is incomplete. */
  insecure: boolean;
}

/** Compiles and evaluates a program; answered by `loaded`. */
export interface LoadRequest {
  kind: "load";
  /** The host's number for the program in this guest. */
  program: number;
  name: string;
  code: string;
  libraries: readonly { importName: string; code: string }[];
  credentials: Readonly<Record<string, string>>;
  /** Programs to forget first. */
  drop: readonly number[];
  budgetMs: number;
}

/** Body: a JSON array of events, then a JSON array of their metadata; answered by `ran`. */
export interface RunRequest {
  kind: "run";
  program: number;
  count: number;
  /** Size of the array of events in the body; the array of metadata is the rest. */
  eventsBytes: number;
  /** Time on the clock after which the guest stops. */
  budgetMs: number;
  /** CPU time that makes a stop the code's own fault; `budgetMs` unless the machine is busy. */
  cpuMs: number;
  /** Lines of `log(...)` that are still wanted, and their UTF-16 units of JSON. */
  logsMax: number;
  logsCharsMax: number;
}

/** Answered by `inspected`. */
export interface InspectRequest {
  kind: "inspect";
  code: string;
}

/** Compiles and evaluates a library alone; answered by `loaded`. */
export interface LibraryRequest {
  kind: "library";
  importName: string;
  code: string;
  libraries: readonly { importName: string; code: string }[];
  budgetMs: number;
}

export type GuestReply =
  | StackOverflowReply
  | ReadyReply
  | UnconfinedReply
  | LoadReply
  | RunReply
  | InspectReply;

/** The stack came to its end within the runtime, which is lost: the last words of a guest. */
export interface StackOverflowReply {
  kind: "overflowed";
}
export interface ReadyReply {
  kind: "ready";
  /** What the confinement lacks, when the guest was told to serve all the same. */
  reason?: string;
}
export interface UnconfinedReply {
  kind: "unconfined";
  reason: string;
}
export interface LoadReply {
  kind: "loaded";
  error?: UserError;
}

/** Body: the outputs in input order, each one line of JSON, without a newline at the end. */
export interface RunReply {
  kind: "ran";
  /** Per event: how many outputs, or `FAILED`, or `OPEN`. */
  counts: readonly number[];
  /** One per `FAILED` event, in their order. */
  errors: readonly UserError[];
  logs: readonly LogLine[];
  /** Why events stay `OPEN`; absent when none does. */
  stopped?: RunStop;
}
export interface InspectReply {
  kind: "inspected";
  imports: readonly string[];
  error?: UserError;
}

export const FAILED = -1;
export const OPEN = -2;

/**
 * `timeout`: the budget was spent. `starved`: the clock ran out while the machine gave the guest
 * too little CPU. `full`: there are as many outputs as one answer may hold. `failed`: `transformBatch` did, with
 * `error`, and each event has to run alone. `culprit` is the event that was running, when it is
 * known and to blame.
 */
export interface RunStop {
  reason: "timeout" | "starved" | "full" | "failed";
  culprit?: number;
  error?: UserError;
}
