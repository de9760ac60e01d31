import { assert } from "../../assert.ts";
import {
  LANE_IN_FLIGHT_BYTES_MAX,
  LANE_IN_FLIGHT_EVENTS_MAX,
  RETRIES_SHARE_MAX,
} from "../../settings/limits.ts";
import type { Output, OutputCounts, UserQueue } from "../model/lane-event.ts";

/** An output that failed alone, and the time of its next attempt. */
export interface RetryEntry {
  /** First the output that failed, then later outputs of its user, which wait for it. */
  readonly outputs: Output[];
  /** Number of failed attempts since the output was set aside. */
  failures: number;
  /** Time of `elapsed()` from which the output is tried again. */
  dueAt: number;
  /** Whether the next attempt may come before `dueAt`, because the destination works again. */
  mayRetryEarlier: boolean;
}

/**
 * The outputs of a delivery queue that failed alone. They are tried again one by one while the
 * queue delivers the outputs of other users. Later outputs of the same user wait behind them, to
 * keep the order.
 */
export class RetryQueue {
  /** Entries by user, in the order in which they were set aside. */
  readonly #entries = new Map<UserQueue | Output, RetryEntry>();
  readonly #counts: OutputCounts;

  /** `counts` are those of the lane, which its retry queues count their outputs into. */
  constructor(counts: OutputCounts) {
    this.#counts = counts;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** Whether the outputs of the lane's retry queues take much of its memory. */
  get isPressed(): boolean {
    const { waiting, waitingBytes } = this.#counts;
    if (waiting > RETRIES_SHARE_MAX * LANE_IN_FLIGHT_EVENTS_MAX) return true;
    return waitingBytes > RETRIES_SHARE_MAX * LANE_IN_FLIGHT_BYTES_MAX;
  }

  /** Sets aside an output that failed alone. */
  add(output: Output): RetryEntry {
    const user = userOf(output);
    assert(!this.#entries.has(user), "A user has at most one output that is set aside");
    const entry = { outputs: [output], failures: 0, dueAt: 0, mayRetryEarlier: false };
    this.#entries.set(user, entry);
    this.#count(output, 1);
    return entry;
  }

  /** Adds the output behind a failed one of its user. Returns false when there is none. */
  addBehind(output: Output): boolean {
    const entry = this.#entries.get(userOf(output));
    if (entry === undefined) return false;
    entry.outputs.push(output);
    this.#count(output, 1);
    return true;
  }

  /** Removes an output of an entry that has a final outcome. */
  removeOutput(entry: RetryEntry, index: number): void {
    const [output] = entry.outputs.splice(index, 1);
    if (output !== undefined) this.#count(output, -1);
  }

  /**
   * Removes an entry whose first output has a final outcome. Returns the outputs that waited behind
   * it.
   */
  remove(entry: RetryEntry): readonly Output[] {
    for (const output of entry.outputs) this.#count(output, -1);
    this.#entries.delete(userOf(entry.outputs[0]!));
    return entry.outputs.slice(1);
  }

  /** The entry that is tried next; undefined when there is none. */
  next(): RetryEntry | undefined {
    let next: RetryEntry | undefined;
    for (const entry of this.#entries.values()) {
      if (next === undefined || entry.dueAt < next.dueAt) next = entry;
    }
    return next;
  }

  /**
   * Makes entries due whose receiver did not ask for a delay; with `all`, all entries. Returns
   * whether there were any.
   */
  makeDue(now: number, all = false): boolean {
    let hasAny = false;
    for (const entry of this.#entries.values()) {
      if (!entry.mayRetryEarlier && !all) continue;
      entry.dueAt = Math.min(entry.dueAt, now);
      hasAny = true;
    }
    return hasAny;
  }

  #count(output: Output, sign: 1 | -1): void {
    this.#counts.waiting += sign;
    this.#counts.waitingBytes += sign * output.bytes.length;
    const { waiting, waitingBytes } = this.#counts;
    assert(waiting >= 0 && waitingBytes >= 0, "A retry queue holds no negative number");
  }
}

/** The user of an output, within its queue; the output itself when it has no user queue. */
export function userOf(output: Output): UserQueue | Output {
  return output.userQueue ?? output;
}
