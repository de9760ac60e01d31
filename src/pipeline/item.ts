import type { LiveProgram } from "../catalog/catalog.ts";
import type { StoredLetter } from "./dead-letters/tables.ts";
import type { Input } from "./reading/input.ts";
import type { Routes } from "./reading/routes.ts";

/** Where an event of a lane comes from, and what is told when it has settled. */
export type Origin =
  | { log: string; sequence: number; connectionId: string }
  /** A dead letter that is sent once more. */
  | { replayOf: StoredLetter };

/** What an item and an output take beside their texts, about: many of them may be `{}`. */
export const ITEM_BYTES = 512;
const OUTPUT_BYTES = 256;

/** One event on its way through a lane, until all that it became has settled. */
export interface Item {
  input: Input;
  origin: Origin;
  /** From here its retry window runs. */
  bornAt: number;
  /** What the window counts for it. */
  bytes: number;
  /** Outputs that have not settled. */
  open: number;
  /** By which it may be sent, as far as that was looked up. */
  routes?: Routes;
  /** It became something that a lane which holds nothing else cannot be sure to hold. */
  isLarge?: boolean;
  /** Written with the cursor when the item settles, so that a crash cannot double them. */
  letters: StoredLetter[];
}

/** Where a user's outputs wait for their delivery: all of them while one is open. */
export interface Seat {
  user: string;
  queue: { push(output: Output): void };
  /** Outputs that have not settled. */
  open: number;
}

/** Attempts of a lane that went through, and that failed but may work later. */
export interface Tally {
  readonly delivered: number;
  readonly failed: number;
}

/** One event as it goes to the destination. */
export interface Output {
  item: Item;
  /** The item's: destinations see no more of it. */
  input: Input;
  bytes: Uint8Array;
  /** The code that made it; undefined when the event goes as it came. */
  live: LiveProgram | undefined;
  attempts: number;
  /** Set once it is on its way to its delivery. */
  seat?: Seat;
  /** The lane's tally when this output had failed for the first time. */
  firstFailure: Tally | undefined;
}

export function outputOf(item: Item, bytes: Uint8Array, live?: LiveProgram): Output {
  return { item, input: item.input, bytes, live, attempts: 0, firstFailure: undefined };
}

/** How an output, or an input that made none, ended. */
export type Ending =
  | { kind: "delivered" }
  | { kind: "dropped" }
  /** Its connection or destination is gone, or its twin is replayed instead. */
  | { kind: "discarded" }
  | {
      kind: "dead-letter";
      stage: "transform" | "deliver";
      reason: string;
      line?: number | undefined;
      column?: number | undefined;
    };

/** Bytes of outputs together. */
export function sizeOf(outputs: readonly Output[]): number {
  return outputs.reduce((sum, { bytes }) => sum + bytes.length + OUTPUT_BYTES, 0);
}
