/** A first-in-first-out queue, which releases items as soon as they are taken. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  /** Index of the first item; an array's own `shift` would move all the others. */
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    // At least half of the array is empty, so at most as many items are moved as were taken since
    // the last move.
    if (2 * this.#head >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
