import { assert } from "../assert.ts";
import { Permit } from "./permit.ts";

/**
 * A semaphore that never makes callers wait. It limits the permits of each owner and of all owners
 * together, and refuses a permit above a limit.
 */
export class ConcurrencyLimiter {
  readonly #perOwner: number;
  readonly #total: number;
  readonly #held = new Map<string, number>();
  #heldTotal = 0;

  constructor({ perOwner, total = Infinity }: { perOwner: number; total?: number }) {
    this.#perOwner = perOwner;
    this.#total = total;
  }

  /**
   * Returns a permit, or undefined when the owner, or all owners together, hold as many permits as
   * allowed.
   */
  tryAcquire(owner: string): Permit | undefined {
    const held = this.#held.get(owner) ?? 0;
    if (this.isOwnerFull(owner) || this.#heldTotal >= this.#total) return undefined;
    this.#count(owner, held + 1, this.#heldTotal + 1);
    return new Permit(() => {
      this.#count(owner, (this.#held.get(owner) ?? 0) - 1, this.#heldTotal - 1);
    });
  }

  /** Whether the owner holds as many permits as one owner may hold. */
  isOwnerFull(owner: string): boolean {
    return (this.#held.get(owner) ?? 0) >= this.#perOwner;
  }

  #count(owner: string, held: number, heldTotal: number): void {
    assert(
      held >= 0 && held <= this.#perOwner && held <= heldTotal && heldTotal <= this.#total,
      "The permits that owners hold are never negative and within the limiter's bounds",
    );
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
    this.#heldTotal = heldTotal;
  }
}
