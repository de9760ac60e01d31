/** So many places to work in. When all are taken, those who come wait, and owners take turns. */
export class Places {
  #free: number;
  /** Who waits, by owner; the first owner is next. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(count: number) {
    this.#free = count;
  }

  get areAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves once the owner has one more place. */
  async take(owner: string): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const line = this.#waiting.get(owner) ?? [];
    this.#waiting.set(owner, line);
    await new Promise<void>((resolve) => line.push(resolve));
  }

  /** Gives the place to the next in line, or back. */
  leave(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#free += 1;
      return;
    }
    const [owner, line] = first;
    const next = line.shift()!;
    // The owner's next turn comes after those of the others.
    this.#waiting.delete(owner);
    if (line.length > 0) this.#waiting.set(owner, line);
    next();
  }
}
