import {
  LANE_UNCOMMITTED_EVENTS_MAX,
  LANE_WINDOW_BYTES_MAX,
  LANE_WINDOW_EVENTS_MAX,
} from "../limits.ts";
import type { Item } from "./item.ts";

/**
 * Items that a lane has taken, until their settling is on disk. Bounded twice: a lane that stands
 * still holds little memory, and one whose commits are slow or fail repeats little after a crash.
 */
export class Window {
  /** In the order of taking. */
  readonly #items = new Set<Item>();
  #open = 0;
  #bytes = 0;

  /** Items that are not on disk as settled. */
  get size(): number {
    return this.#items.size;
  }

  /** Events and bytes that may still be taken; no events when any bound is reached. */
  get room(): { events: number; bytes: number } {
    const bytes = LANE_WINDOW_BYTES_MAX - this.#bytes;
    const open = LANE_WINDOW_EVENTS_MAX - this.#open;
    const uncommitted = LANE_UNCOMMITTED_EVENTS_MAX - this.#items.size;
    return { events: bytes > 0 ? Math.min(open, uncommitted) : 0, bytes };
  }

  get isFull(): boolean {
    return this.room.events <= 0;
  }

  get oldest(): Item | undefined {
    const [item] = this.#items;
    return item;
  }

  take(item: Item): void {
    this.#items.add(item);
    this.#open += 1;
    this.#bytes += item.bytes;
  }

  /** The item became something larger. */
  grow(item: Item, bytes: number): void {
    if (bytes <= item.bytes) return;
    this.#bytes += bytes - item.bytes;
    item.bytes = bytes;
  }

  /** All that the item became has ended. */
  settle(): void {
    this.#open -= 1;
  }

  /** The settling of these items is on disk. */
  commit(items: readonly Item[]): void {
    for (const item of items) if (this.#items.delete(item)) this.#bytes -= item.bytes;
  }
}
