import type { LogLine, UserError } from "../program.ts";

/**
 * The protocol of host and guest. A frame is a header, one line of JSON, and a body that the channel
 * does not parse: events travel as bytes.
 *
 * The host sends requests, and the guest replies once to each, in order; the host may send the next
 * request before it has the reply to the last. Before it replies, the guest may send the host calls
 * of its code (`wait`, body: a JSON array of calls) and sleep until the host returns results
 * (`answers`, body: a JSON array, at least one). A guest that sends a frame without a request, twice
 * or in another shape is killed: each request carries a random number, which its reply repeats, so
 * that no reply can be prepared for a request that is not known yet.
 */
export interface ExchangeNumber {
  exchange: number;
}

export type HostRequest = StartRequest | LoadRequest | RunRequest | InspectRequest | LibraryRequest;

export interface HostCallResults {
  kind: "answers";
}

/** First frame to every guest: it confines itself and replies `ready` or `unconfined`. */
export interface StartRequest {
  kind: "start";
  /** Whether to serve although the confinement is incomplete. */
  insecure: boolean;
}

/** Compiles and evaluates a program; the reply is `loaded`. */
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

/** Body: a JSON array of events, then a JSON array of their metadata; the reply is `ran`. */
export interface RunRequest {
  kind: "run";
  program: number;
  count: number;
  /** Size of the array of events in the body; the array of metadata is the rest. */
  eventsBytes: number;
  /** Clock time after which the guest stops the code. */
  budgetMs: number;
  /** CPU time from which a stop is the code's own fault; `budgetMs` unless the machine is busy. */
  cpuMs: number;
  /** Lines of `log(...)` that the batch may still keep, and their UTF-16 units of JSON. */
  logsMax: number;
  logsCharsMax: number;
}

/** Lists the imports of code; the reply is `inspected`. */
export interface InspectRequest {
  kind: "inspect";
  code: string;
}

/** Compiles and evaluates a library alone; the reply is `loaded`. */
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

/** The stack overflowed within the runtime, which is lost: the last frame of a guest. */
export interface StackOverflowReply {
  kind: "overflowed";
}
export interface ReadyReply {
  kind: "ready";
  /** The part of the confinement that is missing, when `insecure` allows that. */
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

/** Body: the outputs in input order, each one line of JSON, without a final newline. */
export interface RunReply {
  kind: "ran";
  /** Number of outputs per event, or `FAILED`, or `OPEN`. */
  counts: readonly number[];
  /** One per `FAILED` event, in their order. */
  errors: readonly UserError[];
  logs: readonly LogLine[];
  /** The reason why events stay `OPEN`; absent when none does. */
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
 * Why a run stopped. `timeout`: the budget was spent. `starved`: the clock time was spent while the
 * machine gave the guest too little CPU. `full`: the outputs reached the bound of one reply.
 * `failed`: `transformBatch` failed with `error`, and each event has to run alone. `culprit` is the
 * event that was running, when it is known and to blame.
 */
export interface RunStop {
  reason: "timeout" | "starved" | "full" | "failed";
  culprit?: number;
  error?: UserError;
}
