import { assert } from "../../assert.ts";

/**
 * Shortest time in milliseconds between two evictions. An eviction ends the guest (process that
 * runs user code) of one workspace so that another workspace that waits can have a guest.
 */
export const GUEST_EVICTION_INTERVAL_MS = 100;

/**
 * Holder of a guest process: a queue with the work of one workspace in one language. It asks for
 * the permission to have a guest process, which `GuestAdmission` gives and takes away.
 */
export interface GuestHolder {
  /** Time (`performance.now()`) at which the holder last had work; undefined while it has work. */
  readonly idleSince: number | undefined;
  /** Memory in bytes that the holder's guest uses; 0 when it has no guest process. */
  readonly memoryBytes: number;
  /** Whether the holder's guest process is the second one of its workspace and language. */
  readonly isSecond: boolean;
  /**
   * Called when the holder gets the permission to have a guest process. The permission lasts until
   * the holder calls `release`.
   */
  onAdmit(): void;
  /**
   * Withdraws the holder's permission to have a guest process. The holder starts no more work, and
   * calls `release` when its guest has exited. The guest first finishes the work in progress,
   * unless `immediately` is true.
   */
  evict(immediately: boolean): void;
}

export interface AdmissionLimits {
  guestsMax: number;
  /** Whether there is enough memory for one more guest process. */
  hasMemory(): boolean;
  /** Whether all guest processes together use more memory than they may. */
  isOverMemory(): boolean;
}

/**
 * Limits the number of guest processes and their memory. While a limit is reached, further
 * workspaces wait in a queue, and guests are evicted (ended) for them, in this order:
 * - the guest that has been idle longest
 * - a second guest of a workspace
 * - the guest that was admitted first, or, if memory is short, the largest guest
 *
 * At least `GUEST_EVICTION_INTERVAL_MS` pass between two such evictions, because the start of a
 * guest costs as much as a thousand events: if guests were replaced for each event, no time would
 * be left for events.
 */
export class GuestAdmission<T extends GuestHolder> {
  /** Holders with the permission to have a guest process, in the order of their admission. */
  readonly #holders = new Set<T>();
  readonly #evicted = new Set<T>();
  readonly #queue = new Set<T>();
  /**
   * The holder whose guest process is being evicted because all guests together use too much
   * memory; undefined when there is none.
   */
  #evictedForMemory: T | undefined;
  #evictionAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(private readonly limits: AdmissionLimits) {}

  /** Number of holders that wait for the permission to have a guest process. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether a holder that calls `request` now gets the permission for a guest process at once. */
  get hasRoom(): boolean {
    return this.#queue.size === 0 && this.#hasRoom();
  }

  /**
   * Adds the holder to the queue. The holder gets its permission as soon as there is room for a
   * guest process, which may be before `request` returns.
   */
  request(holder: T): void {
    this.#queue.add(holder);
    this.#admit();
  }

  /**
   * Asserts that `holder` has the permission to have a guest process, and that the number of
   * holders with this permission does not exceed the maximum number of guest processes.
   */
  assertAdmitted(holder: T): void {
    assert(this.#holders.has(holder), "Only admitted workspaces get a guest");
    assert(
      this.#holders.size <= this.limits.guestsMax,
      "The guests of a pool are at most as many as its bound",
    );
  }

  release(holder: T): void {
    this.#holders.delete(holder);
    this.#evicted.delete(holder);
    if (this.#evictedForMemory === holder) this.#evictedForMemory = undefined;
    this.#admit();
  }

  /**
   * Ends one guest process if all guests together use more memory than they may. Does nothing while
   * an eviction for this reason is in progress. Must be called repeatedly.
   */
  evictOverMemory(): void {
    if (!this.limits.isOverMemory() || this.#evictedForMemory) return;
    this.#evictedForMemory = this.#longestIdle() ?? this.#second() ?? this.#largest();
    this.#evict(this.#evictedForMemory, true);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#queue.clear();
  }

  #hasRoom(): boolean {
    const count = this.#holders.size;
    return count < this.limits.guestsMax && (count === 0 || this.limits.hasMemory());
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

  /**
   * Evicts one guest process if more holders wait than guests are being evicted, and the last
   * eviction is at least `GUEST_EVICTION_INTERVAL_MS` ago. While a holder waits, sets a timer that
   * checks the queue again.
   */
  #makeRoom(): void {
    clearTimeout(this.#timer);
    if (this.#queue.size === 0) return;
    const now = performance.now();
    const isDue = now - this.#evictionAt >= GUEST_EVICTION_INTERVAL_MS;
    if (isDue && this.#queue.size > this.#evicted.size) {
      this.#evictionAt = now;
      const isFull = this.#holders.size >= this.limits.guestsMax;
      const dispensable = this.#longestIdle() ?? this.#second();
      // Where memory is short, the largest guest leaves: the longest admitted one may be small.
      this.#evict(dispensable ?? (isFull ? this.#longestAdmitted() : this.#largest()), !isFull);
    }
    // The queue is checked again later, because guests that stay may give back memory too.
    this.#timer = setTimeout(() => this.#admit(), GUEST_EVICTION_INTERVAL_MS);
  }

  #longestIdle(): T | undefined {
    const idle = this.#remaining().filter(({ idleSince }) => idleSince !== undefined);
    return idle.toSorted((a, b) => a.idleSince! - b.idleSince!)[0];
  }

  #second(): T | undefined {
    return this.#remaining().find(({ isSecond }) => isSecond);
  }

  #longestAdmitted(): T | undefined {
    return this.#remaining()[0];
  }

  #largest(): T | undefined {
    return this.#remaining().toSorted((a, b) => b.memoryBytes - a.memoryBytes)[0];
  }

  /** Returns holders (work queues) permitted to have a guest process, and not being evicted. */
  #remaining(): T[] {
    return [...this.#holders].filter((holder) => !this.#evicted.has(holder));
  }

  #evict(holder: T | undefined, immediately: boolean): void {
    if (!holder) return;
    this.#evicted.add(holder);
    holder.evict(immediately);
  }
}
