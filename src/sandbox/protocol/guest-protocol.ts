import type { LogLine, UserError } from "../program.ts";

// The protocol between host and guest. A frame consists of a header, which is one line of JSON, and
// a body that the channel does not parse: events are sent as bytes.
//
// The host sends requests. The guest sends one reply to each, in order. The host may send the next
// request before it has the reply to the last one. Before its reply, the guest may send the host
// calls of its code (`wait`; the body is a JSON array of calls). It then sleeps until the host
// sends at least one result (`answers`; the body is a JSON array). The host kills a guest that
// sends a frame without a request, two replies to one request, or a frame of another shape.

/**
 * Random number of a request to the guest process, which repeats it in each message for this
 * request. User code cannot guess the number, so it cannot prepare a reply to a later request.
 */
export interface ExchangeNumber {
  exchange: number;
}

export type HostRequest = StartRequest | LoadRequest | RunRequest | InspectRequest | LibraryRequest;

/**
 * First request to every guest, the process that runs user code. The guest confines itself, and
 * replies `ready` or `unconfined`.
 */
export interface StartRequest {
  kind: "start";
  /** Whether the guest runs user code even if its confinement is incomplete. */
  insecure: boolean;
}

/**
 * Request to compile and evaluate a program (user code with its libraries). The guest process
 * replies `loaded`.
 */
export interface LoadRequest {
  kind: "load";
  /**
   * Number of the program in the guest process. The server chooses it, and uses each number only
   * once per guest.
   */
  program: number;
  name: string;
  code: string;
  libraries: readonly { importName: string; code: string }[];
  credentials: Readonly<Record<string, string>>;
  /** Numbers of the programs (as in `program`) that the guest unloads before it loads this one. */
  drop: readonly number[];
  /** Milliseconds that the code may use: wall-clock time in JavaScript, CPU time in Python. */
  budgetMs: number;
}

/**
 * Request to run events through a loaded program. The body consists of a JSON array of events, and
 * then one JSON text with the metadata of all of them. The guest process replies `ran`.
 */
export interface RunRequest {
  kind: "run";
  program: number;
  count: number;
  /**
   * Size in bytes of the array of events in the body. The metadata of the events follows the array.
   */
  eventsBytes: number;
  /** Wall-clock time in milliseconds after which a JavaScript guest process stops the code. */
  budgetMs: number;
  /**
   * CPU time in milliseconds that the code may use. Python code is stopped after this time.
   * JavaScript code is stopped after the wall-clock time `budgetMs`, which is larger if an earlier
   * attempt got too little CPU time.
   */
  cpuMs: number;
  /** Maximum number of lines of `log(...)` in the reply. */
  logsMax: number;
  /** Maximum total size of the lines of `log(...)` in the reply, in UTF-16 units of JSON. */
  logsCharsMax: number;
}

/** Request to list the modules that code imports. The guest process replies `inspected`. */
export interface InspectRequest {
  kind: "inspect";
  code: string;
}

/**
 * Request to compile and evaluate a library without a transformation. The guest process replies
 * `loaded`.
 */
export interface LibraryRequest extends Pick<LoadRequest, "code" | "libraries" | "budgetMs"> {
  kind: "library";
  importName: string;
}

export type GuestReply =
  /**
   * Last message of a guest process whose language runtime overflowed its stack. The guest ends
   * afterwards.
   */
  | { kind: "overflowed" }
  /**
   * Reply that user code can run. `reason` is the missing part of the confinement, which is
   * permitted only if the request `start` has `insecure`; absent if the confinement is complete.
   */
  | { kind: "ready"; reason?: string }
  | { kind: "unconfined"; reason: string }
  | LoadReply
  | RunReply
  | InspectReply;

/** Reply to `load` and `library`. It has an `error` when the code cannot be loaded. */
export interface LoadReply extends Partial<LoadFailure> {
  kind: "loaded";
}

export interface LoadFailure {
  error: UserError;
  /**
   * CPU time in whole milliseconds that JavaScript code had used when its wall-clock time was up
   * and it was stopped. Absent for all other failures, and always for Python, where CPU time is the
   * limit.
   */
  usedMs?: number;
}

/**
 * Reply to `run`. The body has the output events in the order of their input events, one line of
 * JSON each, without a newline at the end.
 */
export interface RunReply {
  kind: "ran";
  /**
   * List with one number per event: the number of its outputs, or `FAILED` (the code failed), or
   * `OPEN` (the event has no outcome yet).
   */
  counts: readonly number[];
  /** One error for each event whose number in `counts` is `FAILED`, in the order of the events. */
  errors: readonly UserError[];
  logs: readonly LogLine[];
  /** The reason why some events are `OPEN`; absent when no event is `OPEN`. */
  stopped?: RunStop;
}
export interface InspectReply {
  kind: "inspected";
  imports: readonly string[];
  error?: UserError;
}

/** Value in `counts` for an event for which the code has failed. */
export const FAILED = -1;
/** Value in `counts` for an event that has no outcome yet and has to run again. */
export const OPEN = -2;

/**
 * Reason why some events have no outcome yet:
 * - `timeout`: the time was used up
 * - `full`: the outputs reached the size limit of one reply
 * - `failed`: `transformBatch` failed with `error` for the whole batch, so each event has to run
 *   alone
 */
export interface RunStop {
  reason: "timeout" | "full" | "failed";
  /** Index in `counts` of the event that used up the time; absent if it is not known. */
  culprit?: number;
  /**
   * CPU time in whole milliseconds that the event `culprit` alone used; absent if it is not known.
   */
  culpritMs?: number;
  error?: UserError;
}
