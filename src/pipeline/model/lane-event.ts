import type { LiveProgram } from "../../catalog/live-view.ts";
import type { StoredLetter } from "./dead-letter.ts";
import type { InputEvent } from "./input-event.ts";
import type { Routes } from "./routes.ts";

/**
 * The log record from which an event was read, with the connection or the replay job that it was
 * read for.
 */
export type LogOrigin =
  | { log: string; sequence: number; connectionId: string }
  | { log: string; sequence: number; replayId: string };

/**
 * Where a lane's event comes from: a log record, or a requeued dead letter. It decides which
 * progress is written when the event has settled.
 */
export type Origin = LogOrigin | { requeued: StoredLetter };

/**
 * Approximate bytes that an event takes in memory besides its text; `OUTPUT_OVERHEAD_BYTES` is the
 * same for an output. Without them a batch of many events `{}` would count as almost nothing.
 */
export const EVENT_OVERHEAD_BYTES = 512;
const OUTPUT_OVERHEAD_BYTES = 256;

/**
 * One event on its way through a lane. It has settled when each of its outputs has a final outcome.
 */
export interface LaneEvent {
  input: InputEvent;
  origin: Origin;
  /**
   * Start of the event's retry window, in milliseconds since the epoch: the time when it was
   * received, or when its replay was requested.
   */
  retryWindowStart: number;
  /** Bytes by which the event counts in its lane's memory budget. */
  bytes: number;
  /** Number of the event's outputs that have no final outcome yet. */
  openOutputs: number;
  /**
   * The routes by which the lane last decided to send the event; absent before the first such
   * decision.
   */
  checkedRoutes?: Routes;
  /**
   * Whether the outputs exceed the size for which an otherwise empty lane always has memory. Absent
   * until their size is known.
   */
  isLarge?: boolean;
  /** True once one of the event's outputs was delivered. */
  isDelivered?: boolean;
  /** True once one of the event's outputs was discarded. */
  isDiscarded?: boolean;
  /**
   * Dead letters made from the event's outputs. They are written when the event has settled, in one
   * transaction with the cursor, so that a crash cannot make them twice.
   */
  deadLetters: StoredLetter[];
}

/**
 * The delivery queue of one user, whose outputs must stay in order. Exists while the user has
 * outputs without a final outcome.
 */
export interface UserQueue {
  user: string;
  queue: { push(output: Output): void };
  /** Number of the user's outputs that have no final outcome yet. */
  openOutputs: number;
}

/** Numbers of a lane's outputs, and of the attempts to deliver them. */
export interface OutputCounts {
  attempts: number;
  /** Attempts that failed and may succeed later. */
  failedAttempts: number;
  /** Outputs that were delivered and never failed alone. */
  taken: number;
  /** Outputs that failed alone at least once. */
  failed: number;
  /** Outputs that failed alone and have no final outcome yet, and those that wait behind them. */
  waiting: number;
  waitingBytes: number;
}

export function zeroOutputCounts(): OutputCounts {
  return { attempts: 0, failedAttempts: 0, taken: 0, failed: 0, waiting: 0, waitingBytes: 0 };
}

/**
 * One event as the destination gets it. User code can turn one event of a lane into several
 * outputs.
 */
export interface Output {
  laneEvent: LaneEvent;
  /** The input of `laneEvent`, the only part of it that destinations see. */
  input: InputEvent;
  bytes: Uint8Array;
  /** The user code that made the output; undefined when the event is sent unchanged. */
  live: LiveProgram | undefined;
  byCode: boolean;
  attempts: number;
  /** The queue that holds the output; absent until the output is queued. */
  userQueue?: UserQueue;
  /** Failed attempts to deliver the output alone; undefined before the first. */
  failedAlone: FailuresAlone | undefined;
}

/** Failed attempts to deliver one output alone. */
export interface FailuresAlone {
  total: number;
  /** Number of those whose failure may be the event's. */
  ofEvent: number;
  /** Number of those between which other outputs of the lane were taken. */
  amongTaken: number;
  /** The lane's counts after the first of them. */
  readonly countsAtFirst: Readonly<OutputCounts>;
  /** `OutputCounts.taken` after the last of them. */
  takenAtLast: number;
}

export function createOutput(laneEvent: LaneEvent, bytes: Uint8Array, live?: LiveProgram): Output {
  return {
    laneEvent,
    input: laneEvent.input,
    bytes,
    live,
    byCode: live !== undefined,
    attempts: 0,
    failedAlone: undefined,
  };
}

/** Final outcome of an output, or of an event without outputs. */
export type EventOutcome =
  | { kind: "delivered" }
  | { kind: "dropped" }
  /**
   * The event's connection, destination or replay is gone. Or the event is a requeued dead letter,
   * and another requeued letter of the same original event is processed instead.
   */
  | { kind: "discarded" }
  | {
      kind: "dead-letter";
      stage: "transform" | "deliver";
      reason: string;
      line?: number | undefined;
      column?: number | undefined;
    };

/** Approximate bytes that the outputs take in memory. */
export function outputBytes(outputs: readonly Output[]): number {
  return outputs.reduce((sum, { bytes }) => sum + bytes.length + OUTPUT_OVERHEAD_BYTES, 0);
}
