import type { LiveProgram } from "../../catalog/live.ts";
import type { FailedAttempt, FailureCause } from "./attempt.ts";
import type { NewLetter, StoredLetter } from "./dead-letter.ts";
import type { InputEvent } from "./input-event.ts";
import type { Routes } from "./routes.ts";

/**
 * Origin of an event in delivery: a log record read for a connection or for a replay job, or a
 * requeued dead letter. The event's final outcome changes the read position of the lane or of the
 * job, or the dead letter.
 */
export type Origin =
  | { log: string; sequence: number; connectionId: string }
  | { log: string; sequence: number; replayId: string }
  | { requeued: StoredLetter; jobId?: string | undefined };

/**
 * Approximate bytes that an event takes in memory besides its text. If they were not counted, a
 * batch of many events `{}` would count as almost nothing. For an output, `OUTPUT_OVERHEAD_BYTES`
 * is used instead.
 */
export const EVENT_OVERHEAD_BYTES = 512;
const OUTPUT_OVERHEAD_BYTES = 256;

/**
 * One received event on its way through a lane (the delivery to one destination). Its outputs are
 * the events that user code made of it. The event has settled when each output has a final outcome.
 */
export interface LaneEvent {
  input: InputEvent;
  origin: Origin;
  /**
   * Start of the event's retry window, in milliseconds since the epoch: when the event was
   * received, its dead letter was requeued, or a replay took it for delivery. Measured by the clock
   * of the process that did this.
   */
  retryWindowStart: number;
  /** Bytes of the lane's memory budget that the event takes. */
  bytes: number;
  /** Number of outputs that user code made of this event and that have no final outcome yet. */
  openOutputs: number;
  /**
   * Routes (the destination's connections by source) that were current when `LaneRoutes.decide`
   * last decided to send the event; undefined before the first such decision.
   */
  checkedRoutes: Routes | undefined;
  /**
   * Whether the event's outputs take more than `LANE_HELD_BYTES_MIN` bytes. False until their size
   * is known.
   */
  isLarge: boolean;
  /** Whether at least one of the event's outputs was delivered. */
  isDelivered: boolean;
  /**
   * Whether at least one of the event's outputs was discarded, such as for a removed connection.
   */
  isDiscarded: boolean;
  /**
   * Dead letters made from the event's outputs; undefined while there are none. They are written
   * when all outputs have a final outcome, in one transaction with the read position, so that a
   * crash cannot make them twice.
   */
  deadLetters: NewLetter[] | undefined;
  /**
   * Neighbours of this event in the `EventList` of its lane: `before` was read just before this
   * event, `after` just after it. A neighbour is undefined at either end of the list, and once this
   * event's outcome is on disk.
   */
  before: LaneEvent | undefined;
  after: LaneEvent | undefined;
}

/** Creates a `LaneEvent` with the fields of `read`, in the state before user code runs over it. */
export function createLaneEvent(
  read: Pick<LaneEvent, "input" | "origin" | "retryWindowStart" | "bytes">,
): LaneEvent {
  return {
    input: read.input,
    origin: read.origin,
    retryWindowStart: read.retryWindowStart,
    bytes: read.bytes,
    openOutputs: 0,
    checkedRoutes: undefined,
    isLarge: false,
    isDelivered: false,
    isDiscarded: false,
    deadLetters: undefined,
    before: undefined,
    after: undefined,
  };
}

/** Counts of one destination's outgoing events, and of the attempts to deliver them. */
export interface OutputCounts {
  attempts: number;
  /** Number of attempts that failed with an error for which a retry may succeed. */
  failedAttempts: number;
  /** Number of delivered outputs that never failed alone (in a request with no other output). */
  taken: number;
  /** Number of outputs that failed at least once in a request that held only one output. */
  failed: number;
  /**
   * Number of outputs that wait for a retry: outputs that failed in a request that held only one
   * output, and outputs that wait behind such an output of the same user.
   */
  waiting: number;
  waitingBytes: number;
}

export function zeroOutputCounts(): OutputCounts {
  return { attempts: 0, failedAttempts: 0, taken: 0, failed: 0, waiting: 0, waitingBytes: 0 };
}

/**
 * One event as the destination gets it. User code can turn one received event into several outputs.
 */
export interface Output {
  laneEvent: LaneEvent;
  /**
   * The received event from which the output was made (`laneEvent.input`). Implementations of
   * destinations use only this part of `laneEvent`.
   */
  input: InputEvent;
  bytes: Uint8Array;
  /**
   * Published user code that ran over the received event, even if the code failed or dropped the
   * event; undefined when no code ran.
   */
  live: LiveProgram | undefined;
  byCode: boolean;
  attempts: number;
  /**
   * Failed attempts to deliver the output; undefined if there were none. If there were more than
   * `FAILED_ATTEMPTS_MAX`, only the first `FIRST_ATTEMPTS_KEPT` and the latest attempts are kept.
   */
  failedAttempts: FailedAttempt[] | undefined;
  /**
   * Time on the clock `elapsed()` since which the output cannot be delivered: its first attempt
   * failed then, or it began to wait behind an output of the same user whose attempts fail.
   * Undefined before that.
   */
  failingSince: number | undefined;
  /** Index in `UserGroups` of the group of this user's outputs; -1 if the output is in no group. */
  userGroup: number;
  /**
   * Counts of the output's failures in requests that held only this output. Undefined before the
   * first such failure.
   */
  failedAlone: FailuresAlone | undefined;
}

/**
 * Counts of an output's failures in requests that held only this output. They are compared with the
 * success of other outputs, to decide whether the output or the destination causes the failures.
 */
export interface FailuresAlone {
  total: number;
  /**
   * Number of failures that the event may have caused. The remaining failures in `total` were
   * caused by the destination.
   */
  ofEvent: number;
  /**
   * Number of this output's failures that count in `ofEvent` and happened while the destination
   * seemed to accept other outputs: another output was delivered since this output's previous
   * failure. This output's first failure needs no such delivery.
   */
  ofEventAmongTaken: number;
  /**
   * Number of failures in `ofEvent` since the last failure that can be compared with other outputs.
   * A failure can be compared if another output was tried since the previous failure, or an output
   * of another user waits for a retry.
   */
  ofEventAlone: number;
  /**
   * Number of failures in `total`, of any cause, while the destination seemed to accept other
   * outputs: the first failure, and each later one if another output was delivered since the
   * failure before it.
   */
  amongTaken: number;
  /** Whether another output was delivered between the last two failures; true after the first. */
  wasAmongTaken: boolean;
  /**
   * The destination's `OutputCounts` at the output's first failure. Their increase since then shows
   * whether other outputs were delivered.
   */
  readonly countsAtFirst: Readonly<OutputCounts>;
  /** Value of `OutputCounts.taken` at the last failure; `attemptsAtLast` is that of `attempts`. */
  takenAtLast: number;
  attemptsAtLast: number;
}

export function createOutput(laneEvent: LaneEvent, bytes: Uint8Array, live?: LiveProgram): Output {
  return {
    laneEvent,
    input: laneEvent.input,
    bytes,
    live,
    byCode: live !== undefined,
    attempts: 0,
    failedAttempts: undefined,
    failingSince: undefined,
    userGroup: -1,
    failedAlone: undefined,
  };
}

/** Final outcome of an output (an event as user code made it), or of an event without outputs. */
export type EventOutcome =
  | { kind: "delivered" }
  | { kind: "dropped" }
  /**
   * The event is not sent: its connection, destination or replay is gone, its replay waits for a
   * disabled destination, or user code runs over the same received event for another dead letter of
   * the batch.
   */
  | { kind: "discarded" }
  | ({
      kind: "dead-letter";
      stage: "transform" | "deliver";
      line?: number | undefined;
      column?: number | undefined;
    } & FailureCause);

/** Approximate bytes that the outputs take in memory. */
export function outputBytes(outputs: readonly Output[]): number {
  return outputs.reduce((sum, { bytes }) => sum + bytes.length + OUTPUT_OVERHEAD_BYTES, 0);
}

/**
 * Calls `handle` for each run of consecutive items of the same source, with the id of the source
 * and the number of items in the run. Most batches are a single run.
 */
export function forEachSource<T>(
  items: readonly T[],
  sourceOf: (item: T) => string,
  handle: (sourceId: string, count: number) => void,
): void {
  for (let from = 0; from < items.length; ) {
    const sourceId = sourceOf(items[from]!);
    let to = from + 1;
    while (to < items.length && sourceOf(items[to]!) === sourceId) to++;
    handle(sourceId, to - from);
    from = to;
  }
}
