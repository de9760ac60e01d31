import type { LiveProgram } from "../../catalog/live-view.ts";
import type { StoredLetter } from "./dead-letter.ts";
import type { InputEvent } from "./input-event.ts";
import type { Routes } from "./routes.ts";

/** The record of the log that an event was read from, for a connection or for a replay. */
export type LogOrigin =
  | { log: string; sequence: number; connectionId: string }
  | { log: string; sequence: number; replayId: string };

/** Where an event of a lane comes from, which decides what is written when it has settled. */
export type Origin = LogOrigin | { requeued: StoredLetter };

/**
 * Approximate bytes of an event and of an output in memory, beside their texts: a batch may hold
 * many events `{}`.
 */
export const EVENT_OVERHEAD_BYTES = 512;
const OUTPUT_OVERHEAD_BYTES = 256;

/** One event on its way through a lane, until all of its outputs have settled. */
export interface LaneEvent {
  input: InputEvent;
  origin: Origin;
  /** Start of the event's retry window, in milliseconds since the epoch. */
  retryWindowStart: number;
  /** Bytes that the event counts for in its lane's memory budget. */
  bytes: number;
  /** Outputs of the event that have not settled. */
  openOutputs: number;
  /** The routes by which the lane last decided to send the event. */
  checkedRoutes?: Routes;
  /** Whether the outputs are larger than what an otherwise empty lane always has room for. */
  isLarge?: boolean;
  /** Whether one of the event's outputs was delivered. */
  isDelivered?: boolean;
  /**
   * Dead letters of the event's outputs. They are written with the cursor when the event has
   * settled, so that a crash cannot write them twice.
   */
  deadLetters: StoredLetter[];
}

/** The delivery queue of a user who has open outputs; it keeps their order. */
export interface UserQueue {
  user: string;
  queue: { push(output: Output): void };
  /** Outputs of the user that have not settled. */
  openOutputs: number;
}

/** Deliveries of a lane that succeeded, and that failed and may succeed later. */
export interface AttemptCounts {
  readonly delivered: number;
  readonly failed: number;
}

/** One event as the destination gets it. */
export interface Output {
  laneEvent: LaneEvent;
  /** The input of `laneEvent`; destinations see nothing else of it. */
  input: InputEvent;
  bytes: Uint8Array;
  /** The code that made the output; undefined when the event goes unchanged. */
  live: LiveProgram | undefined;
  byCode: boolean;
  attempts: number;
  /** Set when the output is pushed to a queue. */
  userQueue?: UserQueue;
  /** The lane's counts when this output failed for the first time. */
  countsAtFirstFailure: AttemptCounts | undefined;
}

export function createOutput(laneEvent: LaneEvent, bytes: Uint8Array, live?: LiveProgram): Output {
  return {
    laneEvent,
    input: laneEvent.input,
    bytes,
    live,
    byCode: live !== undefined,
    attempts: 0,
    countsAtFirstFailure: undefined,
  };
}

/** How an output ended, or an event without outputs. */
export type EventOutcome =
  | { kind: "delivered" }
  | { kind: "dropped" }
  /**
   * The event's connection, destination or replay is gone, or another output of the same event is
   * sent again instead.
   */
  | { kind: "discarded" }
  | {
      kind: "dead-letter";
      stage: "transform" | "deliver";
      reason: string;
      line?: number | undefined;
      column?: number | undefined;
    };

/** Bytes of outputs in memory. */
export function outputBytes(outputs: readonly Output[]): number {
  return outputs.reduce((sum, { bytes }) => sum + bytes.length + OUTPUT_OVERHEAD_BYTES, 0);
}
