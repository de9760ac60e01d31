import { LANE_WINDOW_BYTES_MAX, LANE_WINDOW_EVENTS_MAX } from "../limits.ts";
import type { Item } from "./item.ts";

/**
 * Items that a lane has taken and whose settling is not on disk yet. Bounded: a lane that stands
 * still holds little memory, and one whose commits fail repeats little after a restart.
 */
export class Window {
  readonly #items = new Set<Item>();
  #bytes = 0;

  get size(): number {
    return this.#items.size;
  }

  /** Events and bytes that may still be taken; none when either bound is reached. */
  get room(): { events: number; bytes: number } {
    const bytes = LANE_WINDOW_BYTES_MAX - this.#bytes;
    return { events: bytes > 0 ? LANE_WINDOW_EVENTS_MAX - this.#items.size : 0, bytes };
  }

  get oldest(): Item | undefined {
    const [item] = this.#items;
    return item;
  }

  add(item: Item): void {
    this.#items.add(item);
    this.#bytes += item.bytes;
  }

  /** The item became something larger. */
  grow(item: Item, bytes: number): void {
    if (bytes <= item.bytes) return;
    this.#bytes += bytes - item.bytes;
    item.bytes = bytes;
  }

  release(items: readonly Item[]): void {
    for (const item of items) if (this.#items.delete(item)) this.#bytes -= item.bytes;
  }
}
