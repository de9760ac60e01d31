interface Waiting {
  enter(): void;
}

/**
 * So many places to work in, and of them so many for one owner. Who finds none waits; owners
 * take turns.
 */
export class Places {
  #free: number;
  readonly #ownerMax: number;
  readonly #taken = new Map<string, number>();
  /** Who waits, by owner; the first owner is next. */
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(count: number, ownerMax = count) {
    this.#free = count;
    this.#ownerMax = ownerMax;
  }

  get areAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves once the owner has one more place; rejects with the signal's reason before that. */
  async take(owner: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#mayEnter(owner)) {
      this.#enter(owner);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const line = this.#waiting.get(owner) ?? new Set();
    this.#waiting.set(owner, line);
    const waiting: Waiting = { enter: resolve };
    line.add(waiting);
    const giveUp = () => {
      this.#stepOut(owner, waiting);
      reject(signal!.reason);
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** Gives one of the owner's places to the next in line who may have it, or back. */
  leave(owner: string): void {
    this.#free += 1;
    const left = this.#taken.get(owner)! - 1;
    if (left > 0) this.#taken.set(owner, left);
    else this.#taken.delete(owner);
    for (const [next, line] of this.#waiting) {
      if (!this.#mayEnter(next)) continue;
      const [waiting] = line;
      this.#stepOut(next, waiting!);
      // The owner's next turn comes after those of the others.
      if (this.#waiting.delete(next)) this.#waiting.set(next, line);
      this.#enter(next);
      waiting!.enter();
      return;
    }
  }

  #mayEnter(owner: string): boolean {
    return this.#free > 0 && (this.#taken.get(owner) ?? 0) < this.#ownerMax;
  }

  #enter(owner: string): void {
    this.#free -= 1;
    this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + 1);
  }

  #stepOut(owner: string, waiting: Waiting): void {
    const line = this.#waiting.get(owner);
    line?.delete(waiting);
    if (line?.size === 0) this.#waiting.delete(owner);
  }
}
