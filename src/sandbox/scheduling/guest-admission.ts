import { assert } from "../../assert.ts";

/** Shortest time between two evictions of a guest in favour of a waiting workspace. */
export const GUEST_EVICTION_INTERVAL_MS = 100;

/** A workspace and language that has a guest, or waits for one. */
export interface GuestHolder {
  /** Since when the holder has no work; undefined while it has some. */
  readonly idleSince: number | undefined;
  /** Memory of the guest. */
  readonly memoryBytes: number;
  /** Admits the holder: it may have a guest until it calls `release`. */
  onAdmit(): void;
  /**
   * Asks the holder to begin no more work, and to call `release` once its guest is gone: when the
   * work under way is done, or `immediately`.
   */
  evict(immediately: boolean): void;
}

export interface AdmissionLimits {
  guestsMax: number;
  /** Whether there is memory for one more guest. */
  hasMemory(): boolean;
  /** Whether the guests use more memory than they may. */
  isOverMemory(): boolean;
}

/**
 * Bounds the number and memory of guests. Over the limit, workspaces queue. One guest at a time is
 * evicted for them, the longest idle one first, else the longest admitted one, and not more often
 * than `GUEST_EVICTION_INTERVAL_MS`: a start costs as much as a thousand events, so that guests
 * that came and went with each event would leave no time for events. Work of the waiting workspaces
 * accumulates meanwhile.
 */
export class GuestAdmission<T extends GuestHolder> {
  readonly #limits: AdmissionLimits;
  /** Admitted holders, the longest admitted one first. */
  readonly #holders = new Set<T>();
  readonly #evicted = new Set<T>();
  readonly #queue = new Set<T>();
  /** The holder that is being evicted because memory is short. */
  #evictedForMemory: T | undefined;
  #evictionAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Number of holders in the queue. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Queues the holder and admits it when there is room, perhaps at once. */
  request(holder: T): void {
    this.#queue.add(holder);
    this.#admit();
  }

  /** Checks that a holder which is about to get a guest is admitted, and the bound is kept. */
  assertAdmitted(holder: T): void {
    assert(this.#holders.has(holder), "Only admitted workspaces get a guest");
    assert(
      this.#holders.size <= this.#limits.guestsMax,
      "The guests of a pool are at most as many as its bound",
    );
  }

  release(holder: T): void {
    this.#holders.delete(holder);
    this.#evicted.delete(holder);
    if (this.#evictedForMemory === holder) this.#evictedForMemory = undefined;
    this.#admit();
  }

  /** Evicts one guest while all together use more memory than they may; called repeatedly. */
  evictOverMemory(): void {
    if (!this.#limits.isOverMemory() || this.#evictedForMemory) return;
    this.#evictedForMemory = this.#longestIdle() ?? this.#largest();
    this.#evict(this.#evictedForMemory, true);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#queue.clear();
  }

  #hasRoom(): boolean {
    const count = this.#holders.size;
    return count < this.#limits.guestsMax && (count === 0 || this.#limits.hasMemory());
  }

  #admit(): void {
    for (const holder of this.#queue) {
      if (!this.#hasRoom()) break;
      this.#queue.delete(holder);
      this.#holders.add(holder);
      holder.onAdmit();
    }
    this.#makeRoom();
  }

  /** Evicts one guest for the queue, now or when the interval has passed. */
  #makeRoom(): void {
    clearTimeout(this.#timer);
    if (this.#queue.size === 0) return;
    const now = performance.now();
    const isDue = now - this.#evictionAt >= GUEST_EVICTION_INTERVAL_MS;
    if (isDue && this.#queue.size > this.#evicted.size) {
      this.#evictionAt = now;
      const isFull = this.#holders.size >= this.#limits.guestsMax;
      const idle = this.#longestIdle();
      // Where memory is short, the longest admitted guest need not be the one that takes it.
      this.#evict(idle ?? (isFull ? this.#longestAdmitted() : this.#largest()), !isFull);
    }
    // Memory may also be given back by guests that stay.
    this.#timer = setTimeout(() => this.#admit(), GUEST_EVICTION_INTERVAL_MS);
  }

  #longestIdle(): T | undefined {
    let longest: T | undefined;
    for (const holder of this.#remaining()) {
      if (holder.idleSince === undefined) continue;
      if (!longest || holder.idleSince < longest.idleSince!) longest = holder;
    }
    return longest;
  }

  #longestAdmitted(): T | undefined {
    return this.#remaining()[0];
  }

  #largest(): T | undefined {
    return this.#remaining().toSorted((a, b) => b.memoryBytes - a.memoryBytes)[0];
  }

  /** Holders that are not being evicted. */
  #remaining(): T[] {
    return [...this.#holders].filter((holder) => !this.#evicted.has(holder));
  }

  #evict(holder: T | undefined, immediately: boolean): void {
    if (!holder) return;
    this.#evicted.add(holder);
    holder.evict(immediately);
  }
}
