import type { OrderedLog } from "./ordered-log.ts";

/** Reads the end of an ordered log with as few requests as possible. */
export class OrderedLogEnd {
  readonly #log: Pick<OrderedLog, "end">;
  /** Request that begins when `#current` ends; all calls until then share it. */
  #next: Promise<number> | undefined;
  /** The last request that was sent; it never rejects. */
  #current: Promise<unknown> = Promise.resolve();

  constructor(log: Pick<OrderedLog, "end">) {
    this.#log = log;
  }

  /** Reads the position after the last entry, by a request that is sent after the call. */
  read(): Promise<number> {
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      const end = this.#log.end();
      this.#current = end.catch(() => {});
      return end;
    });
    return this.#next;
  }
}
