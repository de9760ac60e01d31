import { assert } from "../../assert.ts";

interface Proposal {
  /** Called with whether the set took effect. */
  resolve(effective: boolean): void;
  /** Called when the outcome cannot be known. */
  reject(error: unknown): void;
  /** Listeners are not called for this set. */
  isKnown: boolean;
}

/** Proposed change sets of this node by number, until their outcome is known. */
export class Proposals {
  readonly #open = new Map<number, Proposal>();
  #next = 0;

  /** Number of the next change set. */
  get next(): number {
    return this.#next;
  }

  isKnown(number: number): boolean {
    return this.#open.get(number)?.isKnown ?? false;
  }

  /** Adds a change set; the promise settles with its outcome. */
  add(number: number, isKnown: boolean): Promise<boolean> {
    assert(number === this.#next, "Numbers of a node's change sets ascend by one");
    this.#next += 1;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    promise.catch(() => {});
    this.#open.set(number, { resolve, reject, isKnown });
    return promise;
  }

  settle(outcomes: ReadonlyMap<number, boolean>): void {
    for (const [number, isEffective] of outcomes) this.#open.get(number)?.resolve(isEffective);
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#open.values()) reject(error);
  }

  delete(number: number): void {
    this.#open.delete(number);
  }
}
