import { Permit } from "./permit.ts";

/**
 * A semaphore that gives the next permit to the waiting caller with the lowest priority number.
 * Among callers with the same number, the caller that has waited longest is first.
 */
export class PrioritySemaphore {
  #free: number;
  /** Callers that wait for a permit, in the order of their calls. */
  readonly #waiting: { priority: number; enter: (permit: Permit) => void }[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Returns a permit, or undefined if none is free. */
  tryAcquire(): Permit | undefined {
    if (this.#free === 0) return undefined;
    this.#free -= 1;
    return this.#permit();
  }

  /** Resolves with a permit once a permit is free for this caller. */
  async acquire(priority: number): Promise<Permit> {
    return (
      this.tryAcquire() ?? (await new Promise((enter) => this.#waiting.push({ priority, enter })))
    );
  }

  #permit(): Permit {
    return new Permit(() => {
      const next = this.#takeNext();
      if (next) next.enter(this.#permit());
      else this.#free += 1;
    });
  }

  #takeNext() {
    const lowest = Math.min(...this.#waiting.map(({ priority }) => priority));
    const index = this.#waiting.findIndex(({ priority }) => priority === lowest);
    // If no caller waits, the index is -1, and `splice` takes nothing from the empty array.
    return this.#waiting.splice(index, 1)[0];
  }
}
