import { Permit } from "./permit.ts";

/**
 * A semaphore whose next permit goes to the waiting caller with the lowest priority number, and
 * among equals to the first.
 */
export class PrioritySemaphore {
  #free: number;
  /** Waiting callers in their order of arrival. */
  readonly #waiting: { priority: number; enter: (permit: Permit) => void }[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async acquire(priority: number): Promise<Permit> {
    if (this.#free > 0) {
      this.#free -= 1;
      return this.#permit();
    }
    return await new Promise((enter) => this.#waiting.push({ priority, enter }));
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
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }
}
