/** First in, first out. What was taken is let go, however many still wait. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  /** Where the first one is: an array's own `shift` moves all the others. */
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
    // Half of the places are empty: as many items are moved as were taken since the last time.
    if (2 * this.#head >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
