import { assert } from "../../assert.ts";
import {
  LANE_IN_FLIGHT_BYTES_MAX,
  LANE_IN_FLIGHT_EVENTS_MAX,
  RETRIES_SHARE_MAX,
} from "../../settings/limits.ts";
import type { Output, OutputCounts } from "../model/lane-event.ts";

/**
 * An event that failed alone in a request and was set aside, and the events that wait behind it.
 */
export interface RetryEntry {
  /**
   * The event that failed comes first. Later events of the same user wait behind it, to keep the
   * order.
   */
  readonly outputs: Output[];
  /** Number of failed attempts since the event was set aside. */
  failures: number;
  /** Time, by the clock `elapsed()`, at which the event is due to be sent again. */
  dueAt: number;
  /**
   * Whether the next attempt may come before `dueAt`, once the destination works again. False if
   * the event seems to cause its failures, or the receiver asked for the delay.
   */
  mayRetryEarlier: boolean;
}

/**
 * Events of a delivery queue that failed as the only event of a request. Each is retried alone,
 * while the queue sends events of other users. Later events of the same user wait, to keep the
 * order.
 */
export class RetryQueue {
  /** Retry entries by user, in the order in which the events were set aside. */
  readonly #entries = new Map<string, RetryEntry>();

  /**
   * `counts` includes the number and bytes of the events in all retry queues of the lane (the
   * delivery to one destination). This queue updates these two figures.
   */
  constructor(private readonly counts: OutputCounts) {}

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /**
   * Returns `isPressed`: whether the events in all retry queues of the destination are too many or
   * too large. Also returns `isOnly`: whether `entry` contains all of these events. Without
   * `entry`, `isOnly` is false.
   */
  stateFor(entry?: RetryEntry): { isPressed: boolean; isOnly: boolean } {
    const isOnly = this.counts.waiting === entry?.outputs.length;
    return { isPressed: this.isPressed, isOnly };
  }

  /**
   * Whether the events in all retry queues of the destination are too many or too large: more than
   * the share `RETRIES_SHARE_MAX` of the events or bytes that the destination may have in memory.
   */
  get isPressed(): boolean {
    const { waiting, waitingBytes } = this.counts;
    if (waiting > RETRIES_SHARE_MAX * LANE_IN_FLIGHT_EVENTS_MAX) return true;
    return waitingBytes > RETRIES_SHARE_MAX * LANE_IN_FLIGHT_BYTES_MAX;
  }

  /** Sets aside an event that failed in a request without other events. */
  add(output: Output): RetryEntry {
    const user = userOf(output);
    assert(!this.#entries.has(user), "A user has at most one output that is set aside");
    const entry = { outputs: [output], failures: 0, dueAt: 0, mayRetryEarlier: false };
    this.#entries.set(user, entry);
    this.#count(output, 1);
    return entry;
  }

  /**
   * Adds an event behind a failed event of the same user, and sets the added event's `failingSince`
   * to `now` if unset. Returns false, and changes nothing, if the user has no failed event here.
   */
  addBehind(output: Output, now: number): boolean {
    const entry = this.#entries.get(userOf(output));
    if (entry === undefined) return false;
    entry.outputs.push(output);
    output.failingSince ??= now;
    this.#count(output, 1);
    return true;
  }

  /** Removes `entry.outputs[index]`, because this outgoing event has a final outcome. */
  removeOutput(entry: RetryEntry, index: number): void {
    const [output] = entry.outputs.splice(index, 1);
    if (output !== undefined) this.#count(output, -1);
  }

  /**
   * Removes an entry whose first event has a final outcome. Returns the events that waited behind
   * it.
   */
  remove(entry: RetryEntry): readonly Output[] {
    for (const output of entry.outputs) this.#count(output, -1);
    this.#entries.delete(userOf(entry.outputs[0]!));
    return entry.outputs.slice(1);
  }

  /** The entry that is due first; undefined when there is none. */
  next(): RetryEntry | undefined {
    let next: RetryEntry | undefined;
    for (const entry of this.#entries.values()) {
      if (next === undefined || entry.dueAt < next.dueAt) next = entry;
    }
    return next;
  }

  /**
   * Makes the selected entries due at once. With `all`, every entry is selected; otherwise, each
   * entry whose `mayRetryEarlier` is true. Returns whether any entry was selected, even if it was
   * due before.
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
    this.counts.waiting += sign;
    this.counts.waitingBytes += sign * output.bytes.length;
    const { waiting, waitingBytes } = this.counts;
    assert(waiting >= 0 && waitingBytes >= 0, "A retry queue holds no negative number");
  }
}

/** Returns the id of the user to whom an output belongs. One user's outputs are sent in order. */
export function userOf({ input }: Output): string {
  return input.event.user;
}
