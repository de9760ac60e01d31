/** When workspaces take turns: shortest time between two guests that make room for another. */
export const GUEST_EVICTION_INTERVAL_MS = 100;

/** A tenant that has a guest, or waits for one. */
export interface GuestHolder {
  /** Since when the tenant has nothing to do; undefined while it has work. */
  readonly idleSince: number | undefined;
  /** Memory of the guest. */
  readonly memoryBytes: number;
  /** The tenant has a place: it may have a guest until it calls `leave`. */
  onAdmit(): void;
  /**
   * The tenant is to begin no more work, and to call `leave` once its guest is gone: when the work
   * under way is done, or `atOnce`.
   */
  evict(atOnce: boolean): void;
}

export interface AdmissionLimits {
  guestsMax: number;
  /** Whether there is memory for one more guest, and whether the guests take too much already. */
  hasMemory(): boolean;
  isOverMemory(): boolean;
}

/**
 * Who may have a guest, when not all can: at most so many, and no more than memory holds. Who
 * comes to a full house waits in line. One guest at a time makes room, the longest idle first, else
 * the longest there, and not more often than `GUEST_TURNOVER_MS`: a start costs as much as a
 * thousand events, so that guests that came and went with each event would leave no time for
 * events. What is to do for those who wait gathers meanwhile.
 */
export class GuestAdmission<T extends GuestHolder> {
  readonly #bounds: AdmissionLimits;
  /** Residents in the order in which they came. */
  readonly #residents = new Set<T>();
  readonly #yielding = new Set<T>();
  readonly #line = new Set<T>();
  /** The resident that was sent away because memory is short. */
  #shed: T | undefined;
  #turnedAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(bounds: AdmissionLimits) {
    this.#bounds = bounds;
  }

  /** How many stand in line. */
  get waiting(): number {
    return this.#line.size;
  }

  /** Takes a place in the line, perhaps for no time at all. */
  request(resident: T): void {
    this.#line.add(resident);
    this.#admit();
  }

  release(resident: T): void {
    this.#residents.delete(resident);
    this.#yielding.delete(resident);
    if (this.#shed === resident) this.#shed = undefined;
    this.#admit();
  }

  /** Ends guests until they take no more memory than they may; called again and again. */
  evictOverMemory(): void {
    if (!this.#bounds.isOverMemory() || this.#shed) return;
    this.#shed = this.#idlest() ?? this.#largest();
    this.#send(this.#shed, true);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#line.clear();
  }

  #mayEnter(): boolean {
    const count = this.#residents.size;
    return count < this.#bounds.guestsMax && (count === 0 || this.#bounds.hasMemory());
  }

  #admit(): void {
    for (const resident of this.#line) {
      if (!this.#mayEnter()) break;
      this.#line.delete(resident);
      this.#residents.add(resident);
      resident.onAdmit();
    }
    this.#turnOver();
  }

  /** Makes room for one who waits, now or when it is time. */
  #turnOver(): void {
    clearTimeout(this.#timer);
    if (this.#line.size === 0) return;
    const now = performance.now();
    if (
      now - this.#turnedAt >= GUEST_EVICTION_INTERVAL_MS &&
      this.#line.size > this.#yielding.size
    ) {
      this.#turnedAt = now;
      const full = this.#residents.size >= this.#bounds.guestsMax;
      const idle = this.#idlest();
      // Where memory is short, the longest there need not be what takes it.
      this.#send(idle ?? (full ? this.#longest() : this.#largest()), !full);
    }
    // Memory may also be given back by guests that stay.
    this.#timer = setTimeout(() => this.#admit(), GUEST_EVICTION_INTERVAL_MS);
  }

  #idlest(): T | undefined {
    let found: T | undefined;
    for (const resident of this.#staying()) {
      if (resident.idleSince === undefined) continue;
      if (!found || resident.idleSince < found.idleSince!) found = resident;
    }
    return found;
  }

  #longest(): T | undefined {
    return this.#staying()[0];
  }

  /** When all residents are at work, the one that takes most memory has to go. */
  #largest(): T | undefined {
    return this.#staying().toSorted((a, b) => b.memoryBytes - a.memoryBytes)[0];
  }

  #staying(): T[] {
    return [...this.#residents].filter((resident) => !this.#yielding.has(resident));
  }

  #send(resident: T | undefined, atOnce: boolean): void {
    if (!resident) return;
    this.#yielding.add(resident);
    resident.evict(atOnce);
  }
}
