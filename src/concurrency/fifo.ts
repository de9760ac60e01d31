/** A first-in, first-out queue. It frees the memory of an item as soon as the item is taken. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  /**
   * Index of the first item in the array. Moving this index is cheaper than `Array.shift`, which
   * moves all other items.
   */
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

  /**
   * Adds items at the front, in their order. Takes time in proportion to the queue's length,
   * because all other items move.
   */
  unshift(items: readonly T[]): void {
    if (items.length === 0) return;
    this.#items = [...items, ...this.#items.slice(this.#head)];
    this.#head = 0;
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    // The array is compacted when half of its entries are empty. So each compaction moves at most
    // as many items as were taken since the one before.
    if (2 * this.#head >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
