import { assert } from "../assert.ts";
import { Permit } from "./permit.ts";

/** Whether an owner that holds `held` permits may have one more of the `free` ones. */
export type AdmissionRule = (held: number, free: number) => boolean;

/**
 * Admits an owner while it holds fewer permits than are free. One owner alone gets half of the
 * permits, two get a third each, and the next owner always finds some.
 */
export const fewerThanFree: AdmissionRule = (held, free) => held < free;

/** Admits an owner while it holds fewer than `max` permits and one is free. */
export const atMost =
  (max: number): AdmissionRule =>
  (held, free) =>
    free > 0 && held < max;

/** A semaphore shared by owners: a rule bounds each of them, and waiting owners alternate. */
export class FairSemaphore {
  readonly #count: number;
  #free: number;
  readonly #admits: AdmissionRule;
  readonly #held = new Map<string, number>();
  /** Waiting callers by owner; the next permit goes to the first owner that the rule admits. */
  readonly #waiting = new Map<string, Set<(permit: Permit) => void>>();

  constructor(count: number, admits: AdmissionRule) {
    this.#count = count;
    this.#free = count;
    this.#admits = admits;
  }

  /** Returns a permit if the owner may have one now. */
  tryAcquire(owner: string): Permit | undefined {
    if (this.#waiting.has(owner) || !this.#isAdmitted(owner)) return undefined;
    return this.#grant(owner);
  }

  /**
   * Resolves with a permit; rejects with the signal's reason when it is aborted first. A granted
   * permit must be released, also when the signal is aborted at that moment.
   */
  async acquire(owner: string, signal: AbortSignal): Promise<Permit> {
    signal.throwIfAborted();
    const permit = this.tryAcquire(owner);
    if (permit) return permit;
    return await new Promise<Permit>((resolve, reject) => {
      const callers = this.#waiting.get(owner) ?? new Set();
      this.#waiting.set(owner, callers);
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
    return this.#admits(this.#held.get(owner) ?? 0, this.#free);
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
    assert(this.#free <= this.#count, "A semaphore has no more free permits than it was made with");
    for (const [next, callers] of this.#waiting) {
      if (!this.#isAdmitted(next)) continue;
      const [enter] = callers;
      callers.delete(enter!);
      // An admitted owner moves behind the other waiting ones.
      this.#waiting.delete(next);
      if (callers.size > 0) this.#waiting.set(next, callers);
      enter!(this.#grant(next));
    }
  }
}
