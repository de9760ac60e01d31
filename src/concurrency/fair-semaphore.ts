import { assert } from "../assert.ts";
import { Permit } from "./permit.ts";

/**
 * Decides whether an owner gets another permit. `held` is the number of permits that the owner
 * holds, and `free` the number that no owner holds.
 */
export type AdmissionRule = (held: number, free: number) => boolean;

/**
 * Rule that gives an owner another permit while the owner holds fewer permits than are free. One
 * owner alone can hold about half of all permits, which keeps permits free for new owners.
 */
export const fewerThanFree: AdmissionRule = (held, free) => held < free;

/**
 * Returns a rule that gives an owner another permit while the owner holds fewer than `max` and a
 * permit is free.
 */
export const atMost =
  (max: number): AdmissionRule =>
  (held, free) =>
    free > 0 && held < max;

/**
 * Semaphore for several owners. The rule `admits` limits the permits of each owner. Owners with
 * waiting callers form a queue, and an owner that gets a permit moves to its end.
 */
export class FairSemaphore {
  #free: number;
  readonly #held = new Map<string, number>();
  /**
   * Waiting callers by owner. The next permit goes to the first owner in this map for whom the rule
   * `admits` returns true.
   */
  readonly #waiting = new Map<string, Set<(permit: Permit) => void>>();

  constructor(
    private readonly count: number,
    private readonly admits: AdmissionRule,
  ) {
    this.#free = count;
  }

  /** Returns a permit, or undefined if the owner would have to wait for one. */
  tryAcquire(owner: string): Permit | undefined {
    if (this.#waiting.has(owner) || !this.#isAdmitted(owner)) return undefined;
    return this.#grant(owner);
  }

  /**
   * Waits for a permit. Rejects with the signal's reason when the signal is aborted while the
   * caller waits. The caller must release every permit that it gets, even if the signal is aborted
   * at the same moment.
   */
  async acquire(owner: string, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    const permit = this.tryAcquire(owner);
    if (permit) return permit;
    return await new Promise<Permit>((resolve, reject) => {
      const callers = this.#waiting.getOrInsertComputed(owner, () => new Set());
      const enter = (granted: Permit) => {
        signal.removeEventListener("abort", giveUp);
        resolve(granted);
      };
      const giveUp = () => {
        callers.delete(enter);
        if (callers.size === 0) this.#waiting.delete(owner);
        reject(signal.reason);
      };
      callers.add(enter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  #isAdmitted(owner: string): boolean {
    return this.admits(this.#held.get(owner) ?? 0, this.#free);
  }

  #grant(owner: string): Permit {
    assert(this.#free > 0, "A semaphore grants only free permits");
    this.#free -= 1;
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + 1);
    return new Permit(() => this.#release(owner));
  }

  #release(owner: string): void {
    const held = this.#held.get(owner)! - 1;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
    this.#free += 1;
    assert(this.#free <= this.count, "A semaphore has no more free permits than it was made with");
    for (const [next, callers] of this.#waiting) {
      if (!this.#isAdmitted(next)) continue;
      const [enter] = callers;
      callers.delete(enter!);
      // An owner that got a permit goes to the end of the order.
      this.#waiting.delete(next);
      if (callers.size > 0) this.#waiting.set(next, callers);
      enter!(this.#grant(next));
    }
  }
}
