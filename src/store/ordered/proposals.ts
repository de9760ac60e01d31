import { assert } from "../../assert.ts";

/**
 * Promise of a change set's outcome, with the functions that settle it. It resolves with whether
 * the set took effect, and rejects if this cannot be learnt.
 */
interface Proposal extends PromiseWithResolvers<boolean> {
  /**
   * Whether the code that called `change` for this change set already knows of the change. The
   * store's listeners are then not called for it.
   */
  isKnown: boolean;
}

/**
 * Change sets that this node has appended to the shared log, by number, until their outcome is
 * known.
 */
export class Proposals {
  readonly #open = new Map<number, Proposal>();
  #next = 0;

  /** Number that the next change set of this node gets. */
  get next(): number {
    return this.#next;
  }

  /**
   * Whether to call no listener for change set `number` of this node, because the code that made
   * the changes already knows of them. False if the change set is not in this object.
   */
  isKnown(number: number): boolean {
    return this.#open.get(number)?.isKnown ?? false;
  }

  /**
   * Adds a change set that the caller then appends to the log. `number` must equal the property
   * `next`. Resolves with whether the set took effect, and rejects if this cannot be learnt. If
   * `isKnown`, the store does not call its listeners for the set.
   */
  add(number: number, isKnown: boolean): Promise<boolean> {
    assert(number === this.#next, "Numbers of a node's change sets ascend by one");
    this.#next += 1;
    const proposal = { ...Promise.withResolvers<boolean>(), isKnown };
    proposal.promise.catch(() => {});
    this.#open.set(number, proposal);
    return proposal.promise;
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
