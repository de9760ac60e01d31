import { GATHERED_EVENTS_MAX, LANE_IN_FLIGHT_EVENTS_MAX } from "../settings/limits.ts";
import type { Notifier } from "./clock.ts";
import type { Share } from "./holdings.ts";
import { LANE_HELD_BYTES_MIN } from "./limits.ts";
import type { LaneEvent } from "./model/lane-event.ts";

/**
 * Events of one lane that were read and whose settling is not on disk; a crash repeats these at
 * most.
 */
export const LANE_UNCOMMITTED_EVENTS_MAX = 8_192;

/** How many events a lane may hold. */
interface EventBounds {
  /** Read but not yet settled. */
  open: number;
  /** Read, and their settling is not on disk. */
  uncommitted: number;
}

const bounds: EventBounds = {
  open: LANE_IN_FLIGHT_EVENTS_MAX,
  uncommitted: LANE_UNCOMMITTED_EVENTS_MAX,
};
/** Of a lane that gathers: one delivery is under way while the next one is gathered. */
const gatheringBounds: EventBounds = {
  open: GATHERED_EVENTS_MAX * 2,
  uncommitted: GATHERED_EVENTS_MAX * 3,
};

/**
 * The items that a lane has taken, until their settling is on disk. They are bounded twice: by what
 * has not settled, so that a lane that stands still holds little memory, and by what is not on
 * disk, so that a lane whose commits are slow or fail repeats little after a crash.
 */
export class InFlight {
  readonly #share: Share;
  /** Items in the order in which they were taken. */
  readonly #items = new Set<LaneEvent>();
  #open = 0;
  readonly #bounds: EventBounds;

  constructor(share: Share, gathers = false) {
    this.#share = share;
    this.#bounds = gathers ? gatheringBounds : bounds;
  }

  /** Items whose settling is not on disk. */
  get size(): number {
    return this.#items.size;
  }

  /** Events and bytes that may still be taken; no events when any bound is reached. */
  get room(): { events: number; bytes: number } {
    // A lane that holds nothing may take one event, whatever the other lanes hold.
    const bytes = Math.max(this.#share.room, this.#items.size === 0 ? 1 : 0);
    const open = this.#bounds.open - this.#open;
    const uncommitted = this.#bounds.uncommitted - this.#items.size;
    return { events: bytes > 0 ? Math.min(open, uncommitted) : 0, bytes };
  }

  get isFull(): boolean {
    return this.room.events <= 0;
  }

  get oldest(): LaneEvent | undefined {
    const [item] = this.#items;
    return item;
  }

  take(item: LaneEvent): void {
    this.#items.add(item);
    this.#open += 1;
    this.#share.add(item.bytes);
  }

  /** The item became outputs of so many bytes. False when there is no room for them. */
  emit(item: LaneEvent, bytes: number): boolean {
    item.isLarge = bytes > LANE_HELD_BYTES_MIN;
    const added = Math.max(0, bytes - item.bytes);
    if (!this.#share.emit(bytes, added)) return false;
    item.bytes += added;
    return true;
  }

  /** The item ends without an output. */
  begin(): void {
    this.#share.begin();
  }

  /** So many items have settled: all of their outputs have ended. */
  settle(items: number): void {
    this.#open -= items;
    this.#share.end(items);
  }

  /** The settling of these items is on disk. */
  commit(items: readonly LaneEvent[]): void {
    let bytes = 0;
    for (const item of items) if (this.#items.delete(item)) bytes += item.bytes;
    this.#share.add(-bytes);
  }

  /** Whether the item's outputs may be handed on, as far as their size is known. */
  mayEmit(item: LaneEvent): boolean {
    return item.isLarge ? this.#share.isOpen : this.#share.isOpenForOne;
  }

  /** Notifies once, when there may be room again. */
  wait(notifier: Notifier): void {
    this.#share.wait(notifier);
  }

  close(): void {
    this.#share.close();
  }
}
