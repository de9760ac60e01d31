import { assert } from "../../assert.ts";
import { Fifo } from "../../concurrency/fifo.ts";
import { TRANSFORM_BATCH_EVENTS } from "../limits.ts";
import { createLaneEvent, type LaneEvent } from "../model/lane-event.ts";

/**
 * Number of events at which the buffer of a replay is full. The buffer is also full when its events
 * have `READY_BYTES_MAX` bytes.
 */
const READY_EVENTS_MAX = 2 * TRANSFORM_BATCH_EVENTS;
export const READY_BYTES_MAX = 1 << 20;

/**
 * Buffer of the events that a replay has read and that were not taken for delivery yet. Their
 * number and their bytes are bounded.
 */
export class ReadyEvents {
  readonly #events = new Fifo<LaneEvent>();
  /**
   * Events that were put back with `putBack`, in the order in which they were first read. They are
   * taken before all others.
   */
  #returned: LaneEvent[] = [];
  /** Event → its number in the order of reading, by which `putBack` finds the place of an event. */
  readonly #numbers = new WeakMap<LaneEvent, number>();
  #pushed = 0;
  #bytes = 0;

  get length(): number {
    return this.#events.length + this.#returned.length;
  }

  get isFull(): boolean {
    return this.length >= READY_EVENTS_MAX || this.#bytes >= READY_BYTES_MAX;
  }

  push(event: LaneEvent): void {
    this.#numbers.set(event, this.#pushed++);
    this.#events.push(event);
    this.#bytes += event.bytes;
  }

  /** Puts back an event that was taken and not sent. It is taken again before later events. */
  putBack(event: LaneEvent): void {
    // The lane still holds the other object, until its outcome is committed.
    const again = createLaneEvent(event);
    // Only events that were pushed are taken.
    const number = this.#numbers.get(event)!;
    this.#numbers.set(again, number);
    const isLater = (other: LaneEvent) => this.#numbers.get(other)! > number;
    const index = this.#returned.findIndex(isLater);
    this.#returned.splice(index < 0 ? this.#returned.length : index, 0, again);
    this.#bytes += again.bytes;
  }

  /**
   * Removes and returns the first events: up to `count`, and no more than about `bytesMax` bytes.
   */
  shift(count: number, bytesMax: number): LaneEvent[] {
    const events: LaneEvent[] = [];
    let bytes = 0;
    while (events.length < count && this.length > 0 && bytes < bytesMax) {
      const event = this.#returned.shift() ?? this.#events.shift()!;
      events.push(event);
      bytes += event.bytes;
    }
    this.#bytes -= bytes;
    assert(this.#bytes >= 0, "A replay holds no negative number of bytes");
    return events;
  }
}
