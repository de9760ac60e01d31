import type { LiveProgram } from "../../catalog/catalog.ts";
import type { StoredLetter } from "./dead-letter.ts";
import type { InputEvent } from "./input-event.ts";
import type { Routes } from "./routes.ts";

/** Where an event of a lane comes from, which decides what is told when it has settled. */
export type Origin =
  | { log: string; sequence: number; connectionId: string }
  /** An event of the log that a job sends again. */
  | { log: string; sequence: number; replayId: string }
  /** A dead letter that is sent once more. */
  | { replayOf: StoredLetter };

/**
 * Bytes that an item and an output take about, beside their texts: a batch may hold many events
 * `{}`.
 */
export const EVENT_OVERHEAD_BYTES = 512;
const OUTPUT_OVERHEAD_BYTES = 256;

/** One event on its way through a lane, until all that it became has settled. */
export interface LaneEvent {
  input: InputEvent;
  origin: Origin;
  /** When the item's retry window began. */
  bornAt: number;
  /** Bytes that the item counts for in its lane's share of memory. */
  bytes: number;
  /** Outputs of the item that have not settled. */
  open: number;
  /** The routes by which the item was last found to be due. */
  routes?: Routes;
  /** Whether the item became more than a lane that holds nothing else is sure to have room for. */
  isLarge?: boolean;
  /** Whether one of the item's outputs was delivered. */
  isDelivered?: boolean;
  /**
   * Dead letters of the item's outputs. They are written with the cursor when the item has settled,
   * so that a crash cannot double them.
   */
  letters: StoredLetter[];
}

/**
 * A user with open outputs, and the queue through which all of the user's outputs go until none is
 * open.
 */
export interface UserQueue {
  user: string;
  queue: { push(output: Output): void };
  /** Outputs of the user that have not settled. */
  open: number;
}

/** Attempts of a lane that got through, and that failed but may work later. */
export interface AttemptCounts {
  readonly delivered: number;
  readonly failed: number;
}

/** One event as it goes to the destination. */
export interface Output {
  item: LaneEvent;
  /** The item's: destinations see no more of it. */
  input: InputEvent;
  bytes: Uint8Array;
  /** The code that made the output; undefined when the event goes as it came. */
  live: LiveProgram | undefined;
  byCode: boolean;
  attempts: number;
  /** Set when the output is handed to a queue. */
  seat?: UserQueue;
  /** The lane's tally when this output failed for the first time. */
  firstFailure: AttemptCounts | undefined;
}

export function createOutput(item: LaneEvent, bytes: Uint8Array, live?: LiveProgram): Output {
  const byCode = live !== undefined;
  return { item, input: item.input, bytes, live, byCode, attempts: 0, firstFailure: undefined };
}

/** How an output, or an input that made none, ended. */
export type EventOutcome =
  | { kind: "delivered" }
  | { kind: "dropped" }
  /**
   * The item's connection or destination is gone, or another output of the same event is replayed
   * instead.
   */
  | { kind: "discarded" }
  | {
      kind: "dead-letter";
      stage: "transform" | "deliver";
      reason: string;
      line?: number | undefined;
      column?: number | undefined;
    };

/** Bytes of some outputs together. */
export function heldBytes(outputs: readonly Output[]): number {
  return outputs.reduce((sum, { bytes }) => sum + bytes.length + OUTPUT_OVERHEAD_BYTES, 0);
}
