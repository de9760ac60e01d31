import type { LaneEvent } from "./lane-event.ts";

/**
 * A list of events in the order in which they were added. Each event has references to its
 * neighbours, so that any event can be removed without a search. An event is in at most one list.
 */
export class EventList {
  first: LaneEvent | undefined;
  #last: LaneEvent | undefined;
  size = 0;

  /** Adds an event that is in no list. */
  add(event: LaneEvent): void {
    event.before = this.#last;
    if (this.#last === undefined) this.first = event;
    else this.#last.after = event;
    this.#last = event;
    this.size += 1;
  }

  /** Removes an event. Returns false when it is in no list. */
  remove(event: LaneEvent): boolean {
    const { before, after } = event;
    if (before === undefined && this.first !== event) return false;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // A removed event must not keep its neighbours in memory.
    event.before = undefined;
    event.after = undefined;
    this.size -= 1;
    return true;
  }
}
