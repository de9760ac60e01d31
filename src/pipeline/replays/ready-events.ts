import { assert } from "../../assert.ts";
import { Fifo } from "../../concurrency/fifo.ts";
import { TRANSFORM_BATCH_EVENTS_MAX } from "../../settings/limits.ts";
import type { LaneEvent } from "../model/lane-event.ts";

const READY_EVENTS_MAX = 2 * TRANSFORM_BATCH_EVENTS_MAX;
export const READY_BYTES_MAX = 1 << 20;

/**
 * Buffer of the events that a replay has read and the lane has not taken. Their number and their
 * bytes are bounded.
 */
export class ReadyEvents {
  readonly #events = new Fifo<LaneEvent>();
  #bytes = 0;

  get length(): number {
    return this.#events.length;
  }

  get isFull(): boolean {
    return this.#events.length >= READY_EVENTS_MAX || this.#bytes >= READY_BYTES_MAX;
  }

  push(event: LaneEvent): void {
    this.#events.push(event);
    this.#bytes += event.bytes;
  }

  /**
   * Removes and returns the first events: up to `count`, and no more than about `bytesMax` bytes.
   */
  shift(count: number, bytesMax: number): LaneEvent[] {
    const events: LaneEvent[] = [];
    let bytes = 0;
    while (events.length < count && this.#events.length > 0 && bytes < bytesMax) {
      const event = this.#events.shift()!;
      events.push(event);
      bytes += event.bytes;
    }
    this.#bytes -= bytes;
    assert(this.#bytes >= 0, "A replay holds no negative number of bytes");
    return events;
  }
}
