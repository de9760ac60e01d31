import { assert } from "../assert.ts";
import { Permit } from "./permit.ts";

/**
 * A semaphore that refuses a permit instead of making the caller wait. It limits the units, such as
 * requests or bytes, that one owner may hold, and those that all owners together may hold.
 */
export class ConcurrencyLimiter {
  readonly #held = new Map<string, number>();
  #heldTotal = 0;
  readonly #max: { perOwner: number; total: number };

  constructor({ perOwner, total = Infinity }: { perOwner: number; total?: number }) {
    this.#max = { perOwner, total };
  }

  /**
   * Returns a permit for `count` units: for example, 1 for a request, or its size when bytes are
   * counted. Returns undefined when the permit would exceed the limit of this owner or of all
   * owners together.
   */
  tryAcquire(owner: string, count = 1): Permit | undefined {
    const held = (this.#held.get(owner) ?? 0) + count;
    const heldTotal = this.#heldTotal + count;
    const { perOwner, total } = this.#max;
    if (held > perOwner || heldTotal > total) return undefined;
    this.#count(owner, held, heldTotal);
    return new Permit(() => {
      this.#count(owner, (this.#held.get(owner) ?? 0) - count, this.#heldTotal - count);
    });
  }

  /** Whether the owner holds as many units as one owner may hold. */
  isOwnerFull(owner: string): boolean {
    return (this.#held.get(owner) ?? 0) >= this.#max.perOwner;
  }

  #count(owner: string, held: number, heldTotal: number): void {
    const { perOwner, total } = this.#max;
    assert(
      held >= 0 && held <= perOwner && held <= heldTotal && heldTotal <= total,
      "The units that owners hold are never negative and within the limiter's bounds",
    );
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
    this.#heldTotal = heldTotal;
  }
}
