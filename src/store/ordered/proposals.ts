import { assert } from "../../assert.ts";

interface Proposal {
  /** Resolves the promise that `add` returned, with whether the change set took effect. */
  resolve(effective: boolean): void;
  /** Rejects the promise that `add` returned, when the outcome cannot be learned. */
  reject(error: unknown): void;
  /** Whether listeners are not called for the tables that this change set writes. */
  isKnown: boolean;
}

/** This node's change sets whose outcome is not known yet, by number. */
export class Proposals {
  readonly #open = new Map<number, Proposal>();
  #next = 0;

  /** Number that the next change set of this node must have. */
  get next(): number {
    return this.#next;
  }

  /** Whether listeners are not called for the change set with this number. */
  isKnown(number: number): boolean {
    return this.#open.get(number)?.isKnown ?? false;
  }

  /** Adds a change set that this node proposes. Resolves with whether it took effect. */
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
